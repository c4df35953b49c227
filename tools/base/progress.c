#include "base/progress.h"

#include "base/systemclock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define INTERVAL_NS UINT64_C(200000000)
#define SETTLED_NS UINT64_C(1000000000)

/* The line is only for a reader at the terminal, so a failed write does not matter. */
static void progress_draw(const char *text)
{
    ssize_t written = write(STDERR_FILENO, text, strlen(text));
    (void)written;
}

void progress_begin(struct progress *progress, uint64_t total, bool wanted)
{
    bool shown = wanted && total && isatty(STDERR_FILENO);
    uint64_t now = monotonic_ns();
    *progress = (struct progress){.total = total, .begin_ns = now, .next_ns = shown ? now + INTERVAL_NS : UINT64_MAX};
}

void progress_text(const struct progress *progress, uint64_t elapsed_ns, char text[PROGRESS_TEXT_BYTES])
{
    uint64_t done = progress->done < progress->total ? progress->done : progress->total;
    double rate = (double)done / ((double)(elapsed_ns ? elapsed_ns : 1) * 1e-9);
    unsigned percent = progress->total ? (unsigned)(100.0 * (double)done / (double)progress->total) : 100;
    int used = snprintf(text, PROGRESS_TEXT_BYTES, "%3u %%  %5.1f million records a second", percent, rate * 1e-6);
    double left = rate > 0 ? (double)(progress->total - done) / rate : 0;
    if (elapsed_ns < SETTLED_NS || done == 0 || left > 1e6) /* too early for an estimate, or too long to be of use */
        return;
    uint64_t seconds = (uint64_t)(left + 0.5);
    if (seconds < 3600)
        snprintf(text + used, PROGRESS_TEXT_BYTES - (size_t)used, ", %" PRIu64 ":%02" PRIu64 " left", seconds / 60,
                 seconds % 60);
    else
        snprintf(text + used, PROGRESS_TEXT_BYTES - (size_t)used, ", %" PRIu64 ":%02" PRIu64 ":%02" PRIu64 " left",
                 seconds / 3600, seconds / 60 % 60, seconds % 60);
}

void progress_add(struct progress *progress, uint64_t records)
{
    uint64_t done = __atomic_add_fetch(&progress->done, records, __ATOMIC_RELAXED);
    uint64_t due = __atomic_load_n(&progress->next_ns, __ATOMIC_RELAXED);
    if (due == UINT64_MAX)
        return;
    uint64_t now = monotonic_ns();
    if (now < due || !__atomic_compare_exchange_n(&progress->next_ns, &due, now + INTERVAL_NS, false, __ATOMIC_RELAXED,
                                                  __ATOMIC_RELAXED))
        return; /* another thread draws */
    struct progress then = {.total = progress->total, .done = done};
    char text[PROGRESS_TEXT_BYTES], line[PROGRESS_TEXT_BYTES + 8];
    progress_text(&then, now - progress->begin_ns, text);
    snprintf(line, sizeof line, "\r%s\033[K", text);
    progress_draw(line);
    __atomic_store_n(&progress->drawn, true, __ATOMIC_RELAXED);
}

void progress_end(struct progress *progress)
{
    if (progress->drawn)
        progress_draw("\r\033[K");
    progress->next_ns = UINT64_MAX;
    progress->drawn = false;
}
