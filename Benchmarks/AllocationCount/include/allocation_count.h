#ifndef ALLOCATION_COUNT_H
#define ALLOCATION_COUNT_H

#include <stdint.h>

/// How many blocks this process has asked the allocator for, on any thread; -1 where that cannot be
/// counted (only glibc lets an executable stand in for malloc).
int64_t allocation_count(void);

#endif
