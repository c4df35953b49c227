#include "analysis/idealrun.h"

/* Bounds may differ by this share of the run time. The result is their mean. */
#define BOUNDS_APART 0.01

void ideal_clock_start(struct ideal_clock *clock, uint64_t ns)
{
    *clock = (struct ideal_clock){.at_ns = ns, .now = {ns, ns}};
}

void ideal_clock_compute(struct ideal_clock *clock, uint64_t until_ns)
{
    if (until_ns <= clock->at_ns)
        return;
    uint64_t ns = until_ns - clock->at_ns;
    clock->useful_ns += ns;
    clock->now.least += ns;
    clock->now.most += ns;
    clock->at_ns = until_ns;
}

void ideal_clock_call(struct ideal_clock *clock, uint64_t end_ns, const struct ideal *need)
{
    ideal_need(&clock->now, *need);
    clock->at_ns = end_ns > clock->at_ns ? end_ns : clock->at_ns;
}

void ideal_clock_amend(struct ideal_clock *clock, struct ideal from, uint64_t since_ns)
{
    ideal_need(&clock->now, (struct ideal){from.least + since_ns, from.most + since_ns});
}

void ideal_run_add(struct ideal_run *run, const struct ideal_clock *clock, uint64_t start_ns)
{
    uint64_t run_ns = clock->at_ns - start_ns;
    run->run_ns = run_ns > run->run_ns ? run_ns : run->run_ns;
    run->useful_ns = clock->useful_ns > run->useful_ns ? clock->useful_ns : run->useful_ns;
    ideal_need(&run->ideal_ns, (struct ideal){clock->now.least - start_ns, clock->now.most - start_ns});
}

bool ideal_run_split(const struct ideal_run *run, struct ideal_split *split)
{
    double whole = (double)run->run_ns, useful = (double)run->useful_ns;
    double least = (double)run->ideal_ns.least, most = (double)run->ideal_ns.most, ideal = (least + most) / 2;
    *split = (struct ideal_split){.communication = whole > 0 ? useful / whole : 1};
    if (most - least > BOUNDS_APART * whole)
        return false;
    split->serialization = ideal > 0 ? useful / ideal : 1;
    split->transfer = whole > 0 ? ideal / whole : 1;
    return true;
}
