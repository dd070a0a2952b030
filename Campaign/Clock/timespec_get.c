// libfaketime intercepts timespec_get but not cnd_timedwait. librdkafka computes cnd_timedwait's
// deadlines with timespec_get, so both must use the real clock for its waits to be correct.

#ifdef __linux__
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int timespec_get(struct timespec *now, int base) {
  if (base != TIME_UTC) return 0;
  return syscall(SYS_clock_gettime, CLOCK_REALTIME, now) == 0 ? base : 0;
}
#endif
