#include "clock/clock.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool clock_is_counter;

enum { CALIBRATION_MIN_NS = 2000000, PAIR_ATTEMPTS = 7 };

struct instant {
    uint64_t ticks;
    uint64_t ns;
};

static struct instant calibration_begin;
static struct clock_scale calibrated;

static uint64_t timespec_ns(struct timespec t)
{
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The attempt with the least time between the two counter reads has the least error. */
static struct instant instant_read(clockid_t id)
{
    struct instant best = {0, 0};
    uint64_t best_gap = UINT64_MAX;
    for (int i = 0; i < PAIR_ATTEMPTS; i++) {
        struct timespec t;
        uint64_t before = clock_now();
        clock_gettime(id, &t);
        uint64_t gap = clock_now() - before;
        if (gap < best_gap) {
            best_gap = gap;
            best = (struct instant){before + gap / 2, timespec_ns(t)};
        }
    }
    return best;
}

static bool kernel_trusts_counter(void)
{
#if defined(__aarch64__)
    return true; /* the architecture promises a constant rate that all cores share */
#elif defined(__x86_64__)
    char name[16] = "";
    int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, name, sizeof name - 1);
    close(fd);
    return n >= 3 && strncmp(name, "tsc", 3) == 0 && (name[3] == '\n' || name[3] == '\0');
#else
    return false;
#endif
}

void clock_open(void)
{
    if (calibration_begin.ns)
        return;
    clock_is_counter = kernel_trusts_counter();
    calibration_begin = instant_read(CLOCK_MONOTONIC_RAW);
}

enum clock_kind clock_kind(void)
{
    return clock_is_counter ? CLOCK_KIND_TSC : CLOCK_KIND_MONOTONIC;
}

static uint64_t mult_measure(void)
{
    clock_open();
    if (!clock_is_counter)
        return UINT64_C(1) << 32;
    struct instant end;
    do
        end = instant_read(CLOCK_MONOTONIC_RAW);
    while (end.ns - calibration_begin.ns < CALIBRATION_MIN_NS);
    unsigned __int128 ns = (unsigned __int128)(end.ns - calibration_begin.ns) << 32;
    return (uint64_t)(ns / (end.ticks - calibration_begin.ticks));
}

struct clock_scale clock_calibrate(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* a tool may ask during MPI_Init */
    uint64_t mult = __atomic_load_n(&calibrated.mult, __ATOMIC_ACQUIRE);
    if (mult)
        return (struct clock_scale){mult};
    pthread_mutex_lock(&lock);
    if (!calibrated.mult)
        __atomic_store_n(&calibrated.mult, mult_measure(), __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
    return calibrated;
}

struct clock_scale clock_calibrated(void)
{
    return calibrated;
}

struct clock_pair clock_pair_read(void)
{
    struct instant now = instant_read(CLOCK_REALTIME);
    return (struct clock_pair){now.ticks, now.ns};
}
