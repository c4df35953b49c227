#include "cures/sensitivity.h"

#include "base/units.h"
#include "cures/questions.h"
#include "job/jsonvalue.h"

/* Worlds: a byte that takes a percent longer, and latencies of 1, 2, 4, ... us more, up to 0.5 s. */
enum {
    LATENCIES = 20,
    WORLD_BYTES = WORLDS_FIXED + 1,
    WORLD_LATENCIES,
    SENSITIVITY_WORLDS = WORLD_LATENCIES + LATENCIES
};

#define PERCENT 0.01

static double latency_more(int i)
{
    return (double)(1000 << i);
}

/* The latency at which the run takes a percent longer, between two that were tried. */
static double tolerance_find(const double more[LATENCIES], double least)
{
    for (int i = 0; i < LATENCIES; i++) {
        double before = i ? more[i - 1] : 0, from = i ? latency_more(i - 1) : 0;
        if (more[i] >= least)
            return from + (latency_more(i) - from) * (least - before) / (more[i] - before);
    }
    return 0;
}

static void sensitivity_take(struct sensitivity *sensitivity, const double *run_ns)
{
    double more[LATENCIES];
    for (int i = 0; i < LATENCIES; i++)
        more[i] = run_ns[WORLD_LATENCIES + i] - run_ns[WORLDS_FIXED];
    sensitivity->run_ns = run_ns[WORLD_RECORDED];
    sensitivity->microsecond_ns = more[0];
    sensitivity->percent_ns = sensitivity->byte_ns > 0 ? run_ns[WORLD_BYTES] - run_ns[WORLDS_FIXED] : -1;
    sensitivity->tolerance_ns = tolerance_find(more, PERCENT * sensitivity->run_ns);
}

int sensitivity_find(struct sensitivity *sensitivity, const struct analysis *analysis)
{
    struct world_change changes[SENSITIVITY_WORLDS];
    struct world_plan plan = {.count = SENSITIVITY_WORLDS,
                              .changes = changes,
                              .latency_ns = (double)analysis->network.latency_ns,
                              .byte_ns = network_byte_ns(&analysis->network)};
    *sensitivity = (struct sensitivity){.unknown = replay_obstacle(analysis),
                                        .latency_ns = (double)analysis->network.latency_ns,
                                        .byte_ns = network_byte_ns(&analysis->network)};
    if (sensitivity->unknown)
        return 0;
    for (int k = 0; k < SENSITIVITY_WORLDS; k++)
        changes[k] = (struct world_change){.computing = 1, .rank = -1};
    changes[WORLD_BYTES].byte_ns = PERCENT * sensitivity->byte_ns;
    for (int i = 0; i < LATENCIES; i++)
        changes[WORLD_LATENCIES + i].latency_ns = latency_more(i);
    struct analysis *reading = world_plan_open(&plan) == 0 ? analysis_replay(analysis, &plan, NULL) : NULL;
    if (reading)
        sensitivity_take(sensitivity, reading->ideal.world_ns);
    analysis_reading_release(reading);
    world_plan_release(&plan);
    return reading ? 0 : -1;
}

static void more_print(const char *change, double ns, double run_ns, FILE *out)
{
    char a[UNIT_TEXT_BYTES], b[UNIT_TEXT_BYTES];
    fprintf(out, "  %s: the run takes %s longer (%s)\n", change, text_of_ns(a, ns > 0 ? (uint64_t)ns : 0),
            text_of_share(b, ns > 0 ? ns : 0, run_ns));
}

void sensitivity_print(const struct sensitivity *sensitivity, FILE *out)
{
    char a[UNIT_TEXT_BYTES];
    fprintf(out, "\nnetwork\n");
    if (sensitivity->unknown) {
        fprintf(out, "  unknown: %s\n", sensitivity->unknown);
        return;
    }
    if (sensitivity->latency_ns > 0)
        fprintf(out, "  latency of messages %s\n", text_of_ns(a, (uint64_t)sensitivity->latency_ns));
    if (sensitivity->byte_ns > 0)
        fprintf(out, "  bandwidth %s a second\n", text_of_bytes(a, (uint64_t)(1e9 / sensitivity->byte_ns)));
    more_print("1 us more latency", sensitivity->microsecond_ns, sensitivity->run_ns, out);
    if (sensitivity->percent_ns >= 0)
        more_print("bytes take 1 % longer", sensitivity->percent_ns, sensitivity->run_ns, out);
    if (sensitivity->tolerance_ns > 0)
        fprintf(out, "  the run takes 1 %% longer with %s more latency\n",
                text_of_ns(a, (uint64_t)sensitivity->tolerance_ns));
}

json_t *sensitivity_json(const struct sensitivity *sensitivity)
{
    bool known = !sensitivity->unknown, bytes = sensitivity->byte_ns > 0;
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "unknown", text_json(sensitivity->unknown), "latency_ns",
                     known_count_json(sensitivity->latency_ns > 0, (uint64_t)sensitivity->latency_ns),
                     "bytes_per_second", bytes ? figure_json(1e9 / sensitivity->byte_ns) : json_null(),
                     "ns_per_us_latency", known ? figure_json(sensitivity->microsecond_ns) : json_null(),
                     "ns_per_percent_bandwidth", known && bytes ? figure_json(sensitivity->percent_ns) : json_null(),
                     "latency_tolerance_ns",
                     known_count_json(sensitivity->tolerance_ns > 0, (uint64_t)sensitivity->tolerance_ns));
}
