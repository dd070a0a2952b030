#ifndef ALLOCATION_COUNT_H
#define ALLOCATION_COUNT_H

#include <stdint.h>

/// The number of blocks that this process has allocated, on all threads; -1 if they cannot be counted
/// (only glibc lets an executable replace malloc).
int64_t allocation_count(void);

#endif
