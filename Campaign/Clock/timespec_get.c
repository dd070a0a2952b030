// libfaketime stands before timespec_get but not before cnd_timedwait, and librdkafka waits until
// what the one says by the other: with both of them true, its waits are as long as it means them.

#ifdef __linux__
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int timespec_get(struct timespec *now, int base) {
  if (base != TIME_UTC) return 0;
  return syscall(SYS_clock_gettime, CLOCK_REALTIME, now) == 0 ? base : 0;
}
#endif
