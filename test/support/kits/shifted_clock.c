// SPDX-License-Identifier: Apache-2.0
/* Shifts the system clock of a process, for LD_PRELOAD: by the nanoseconds in the file that CLOCK_SHIFT names.

   Waits until a time of the system clock end as they would without the shift. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

#define SECOND 1000000000L
#define SYSTEM_TIMES 1000000000L /* [s] later times are of the system clock */

static long zero;
static volatile long *shift = &zero;
static int (*real_clock)(clockid_t, struct timespec *);

__attribute__((constructor)) static void begin(void) {
  real_clock = dlsym(RTLD_NEXT, "clock_gettime");
  int file = open(getenv("CLOCK_SHIFT"), O_RDONLY);
  void *mapped = mmap(0, sizeof(long), PROT_READ, MAP_SHARED, file, 0);
  if (mapped != MAP_FAILED) shift = mapped;
}

static struct timespec moved(struct timespec t, long by) {
  long total = t.tv_nsec + by % SECOND;
  t.tv_sec += by / SECOND + (total >= SECOND) - (total < 0);
  t.tv_nsec = total - SECOND * (total >= SECOND) + SECOND * (total < 0);
  return t;
}

int clock_gettime(clockid_t clock, struct timespec *t) {
  if (!real_clock) begin();
  int failed = real_clock(clock, t);
  if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) *t = moved(*t, *shift);
  return failed;
}

int gettimeofday(struct timeval *t, void *zone) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  t->tv_sec = now.tv_sec, t->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *t) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (t) *t = now.tv_sec;
  return now.tv_sec;
}

int pthread_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock, const struct timespec *end) {
  static int (*real)(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *);
  if (!real) real = dlsym(RTLD_NEXT, "pthread_cond_clockwait");
  struct timespec t = clock == CLOCK_REALTIME ? moved(*end, -*shift) : *end;
  return real(c, m, clock, &t);
}

int pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *end) {
  static int (*real)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
  if (!real) real = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2"); /* x86_64 */
  if (!real) real = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.17");  /* aarch64 */
  struct timespec t = end->tv_sec > SYSTEM_TIMES ? moved(*end, -*shift) : *end; /* or a time of the steady clock */
  return real(c, m, &t);
}

int pthread_mutex_timedlock(pthread_mutex_t *m, const struct timespec *end) {
  static int (*real)(pthread_mutex_t *, const struct timespec *);
  if (!real) real = dlsym(RTLD_NEXT, "pthread_mutex_timedlock");
  struct timespec t = moved(*end, -*shift);
  return real(m, &t);
}

int sem_timedwait(sem_t *s, const struct timespec *end) {
  static int (*real)(sem_t *, const struct timespec *);
  if (!real) real = dlsym(RTLD_NEXT, "sem_timedwait");
  struct timespec t = moved(*end, -*shift);
  return real(s, &t);
}
