#include "allocation_count.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#if defined(__GLIBC__)

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static _Atomic int64_t blocks;

void *malloc(size_t size) {
  atomic_fetch_add_explicit(&blocks, 1, memory_order_relaxed);
  return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
  atomic_fetch_add_explicit(&blocks, 1, memory_order_relaxed);
  return __libc_calloc(count, size);
}

void *realloc(void *block, size_t size) {
  atomic_fetch_add_explicit(&blocks, 1, memory_order_relaxed);
  return __libc_realloc(block, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  atomic_fetch_add_explicit(&blocks, 1, memory_order_relaxed);
  return __libc_memalign(alignment, size);
}

int posix_memalign(void **result, size_t alignment, size_t size) {
  atomic_fetch_add_explicit(&blocks, 1, memory_order_relaxed);
  void *block = __libc_memalign(alignment, size);
  if (block == NULL) return ENOMEM;
  *result = block;
  return 0;
}

int64_t allocation_count(void) { return atomic_load_explicit(&blocks, memory_order_relaxed); }

#else

int64_t allocation_count(void) { return -1; }

#endif
