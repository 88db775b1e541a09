/*
 * Preloaded into the service, it makes disk operations of its database fail on demand, and moves the clock.
 *
 * FAULT_DATABASE  path of the database; its log and the other files next to it begin with the same path.
 * FAULT_CONTROL   a file mapped by both sides. Bytes 0 to 7: what is added to the clock, in milliseconds. From byte 8 on:
 *                 "<number> <operation> <file> <action> <count>", one text that the test replaces as a whole. The last
 *                 eight bytes count the calls that failed.
 *   number     changes with each text; counting begins anew then
 *   operation  write, sync, or any
 *   file       data (the database file), log (its -wal), or any
 *   action     EIO, ENOSPC, kill (before it takes place), tear (half of a write, then kill); "off" does nothing
 *   count      how many matching calls pass before; every one from there on fails
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

enum { CONTROL_SIZE = 256, TEXT = 8, TEXT_SIZE = 240, FAILURES = 248 };

static volatile char *control;
static char database[4096];
static size_t database_length;

struct fault {
  unsigned number;
  char operation[8], file[8], action[8];
  long count;
};

static unsigned counted_for;
static long passed; /* by all threads */

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("FAULT_CONTROL"), *file = getenv("FAULT_DATABASE");
  if (path == NULL || file == NULL) return;
  int descriptor = open(path, O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return;
  void *mapped = mmap(NULL, CONTROL_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  close(descriptor);
  if (mapped == MAP_FAILED) return;
  database_length = strlen(file);
  if (database_length >= sizeof database) return;
  memcpy(database, file, database_length);
  control = mapped;
}

/* What the descriptor has open: "data", "log", "beside" or, when it is not the database's, null. */
static const char *file_of(int descriptor) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return NULL;
  path[length] = 0;
  if (strncmp(path, database, database_length) != 0) return NULL;
  const char *rest = path + database_length;
  if (*rest == 0) return "data";
  return strcmp(rest, "-wal") == 0 ? "log" : "beside";
}

/* Whether this call is to fail, and how. */
static int meets(const char *operation, int descriptor, struct fault *fault) {
  if (control == NULL || control[TEXT] == 0) return 0;
  char text[TEXT_SIZE];
  memcpy(text, (const char *)control + TEXT, sizeof text);
  text[sizeof text - 1] = 0;
  int fields = sscanf(text, "%u %7s %7s %7s %ld", &fault->number, fault->operation, fault->file, fault->action,
                      &fault->count);
  if (fields != 5 || strcmp(fault->action, "off") == 0) return 0;
  if (strcmp(fault->operation, "any") != 0 && strcmp(fault->operation, operation) != 0) return 0;
  const char *file = file_of(descriptor);
  if (file == NULL || (strcmp(fault->file, "any") != 0 && strcmp(fault->file, file) != 0)) return 0;
  if (counted_for != fault->number) {
    counted_for = fault->number;
    passed = 0;
  }
  long before = __atomic_fetch_add(&passed, 1, __ATOMIC_RELAXED);
  if (before < fault->count) return 0;
  __atomic_fetch_add((int64_t *)(control + FAILURES), 1, __ATOMIC_RELAXED);
  return 1;
}

static void end_here(void) {
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

static int error_of(const struct fault *fault) {
  return strcmp(fault->action, "ENOSPC") == 0 ? ENOSPC : EIO;
}

static int ends(const struct fault *fault) {
  return strcmp(fault->action, "kill") == 0 || strcmp(fault->action, "tear") == 0;
}

static ssize_t write_at(const char *name, int descriptor, const void *bytes, size_t size, off64_t offset) {
  ssize_t (*real)(int, const void *, size_t, off64_t) = dlsym(RTLD_NEXT, name);
  struct fault fault;
  if (!meets("write", descriptor, &fault)) return real(descriptor, bytes, size, offset);
  if (strcmp(fault.action, "tear") == 0) real(descriptor, bytes, size / 2, offset);
  if (ends(&fault)) end_here();
  errno = error_of(&fault);
  return -1;
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t size, off64_t offset) {
  return write_at("pwrite64", descriptor, bytes, size, offset);
}

ssize_t pwrite(int descriptor, const void *bytes, size_t size, off_t offset) {
  return write_at("pwrite", descriptor, bytes, size, offset);
}

ssize_t write(int descriptor, const void *bytes, size_t size) {
  static ssize_t (*real)(int, const void *, size_t);
  if (real == NULL) real = dlsym(RTLD_NEXT, "write");
  struct fault fault;
  if (!meets("write", descriptor, &fault)) return real(descriptor, bytes, size);
  if (strcmp(fault.action, "tear") == 0) real(descriptor, bytes, size / 2);
  if (ends(&fault)) end_here();
  errno = error_of(&fault);
  return -1;
}

static int synced(const char *name, int descriptor) {
  int (*real)(int) = dlsym(RTLD_NEXT, name);
  struct fault fault;
  if (!meets("sync", descriptor, &fault)) return real(descriptor);
  if (ends(&fault)) end_here();
  errno = error_of(&fault);
  return -1;
}

int fsync(int descriptor) {
  return synced("fsync", descriptor);
}

int fdatasync(int descriptor) {
  return synced("fdatasync", descriptor);
}

static int64_t clock_offset(void) {
  return control == NULL ? 0 : *(volatile int64_t *)control;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  static int (*real)(clockid_t, struct timespec *);
  if (real == NULL) real = dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(clock, now);
  if (result == 0 && clock == CLOCK_REALTIME) {
    int64_t offset = clock_offset();
    int64_t nanoseconds = now->tv_nsec + (offset % 1000) * 1000000;
    now->tv_sec += offset / 1000 + nanoseconds / 1000000000 - (nanoseconds < 0 ? 1 : 0);
    now->tv_nsec = nanoseconds < 0 ? nanoseconds + 1000000000 : nanoseconds % 1000000000;
  }
  return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  struct timespec precise;
  (void)zone;
  if (clock_gettime(CLOCK_REALTIME, &precise) != 0) return -1;
  now->tv_sec = precise.tv_sec;
  now->tv_usec = precise.tv_nsec / 1000;
  return 0;
}
