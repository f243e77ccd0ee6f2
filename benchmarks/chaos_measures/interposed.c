/* Stands between the program and the C library: flushes take CHAOS_FLUSH_MS longer, and the clock of the day jumps by
   up to CHAOS_JUMP_S seconds either way, anew every second. The monotonic clock goes on as it should. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long number(const char *name) {
    const char *value = getenv(name);
    return value ? atol(value) : 0;
}

static void wait_longer(void) {
    long ms = number("CHAOS_FLUSH_MS");
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

int fsync(int file) {
    wait_longer();
    return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(file);
}

int fdatasync(int file) {
    wait_longer();
    return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(file);
}

static long jump(time_t second) {
    long most = number("CHAOS_JUMP_S");
    unsigned long mixed = (unsigned long)second * 2654435761UL % 1000003UL;
    return most ? (long)(mixed % (2 * (unsigned long)most + 1)) - most : 0;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    int code = ((int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime"))(clock, time);
    if (code == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) time->tv_sec += jump(time->tv_sec);
    return code;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    time->tv_sec = now.tv_sec;
    time->tv_usec = now.tv_nsec / 1000;
    return 0;
}
