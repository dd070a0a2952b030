// The time of day of a process is the real one plus the microseconds in the file $CAMPAIGN_CLOCK, which may change
// while the process runs. Monotonic clocks stay as they are, and so do librdkafka's waits, whose deadlines libc
// computes without these functions. libdispatch computes those of its semaphores with them, so they are translated.

#ifdef __linux__
#define _GNU_SOURCE
#include <fcntl.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *offset;

// Mapped, because a process without free descriptors must not lose its clock.
__attribute__((constructor)) static void map_offset(void) {
  const char *path = getenv("CAMPAIGN_CLOCK");
  int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return;
  void *mapped = mmap(NULL, sizeof *offset, PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (mapped != MAP_FAILED) offset = mapped;
}

static struct timespec moved(const struct timespec *time, int64_t by) {
  int64_t microseconds = time->tv_sec * INT64_C(1000000) + time->tv_nsec / 1000 + by;
  return (struct timespec){
      .tv_sec = microseconds / 1000000,
      .tv_nsec = microseconds % 1000000 * 1000 + time->tv_nsec % 1000};
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  int result = syscall(SYS_clock_gettime, clock, now);
  if (result != 0 || offset == NULL) return result;
  if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE) return 0;
  *now = moved(now, *offset);
  return 0;
}

int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict deadline) {
  struct timespec real = offset == NULL ? *deadline : moved(deadline, -*offset);
  return sem_clockwait(semaphore, CLOCK_REALTIME, &real);
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  (void)zone;
  struct timespec time;
  if (clock_gettime(CLOCK_REALTIME, &time) != 0) return -1;
  now->tv_sec = time.tv_sec;
  now->tv_usec = time.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *now) {
  struct timespec current;
  if (clock_gettime(CLOCK_REALTIME, &current) != 0) return -1;
  if (now != NULL) *now = current.tv_sec;
  return current.tv_sec;
}
#endif
