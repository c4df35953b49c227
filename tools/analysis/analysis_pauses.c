/*
 * Times without recording (MPI_Pcontrol). A message or collective may have its other end there, so that the k-th send
 * does not belong to the k-th receive. Each process counts its stretches of recording, and channels and operations begin
 * anew in each. A first reading of the trace finds those whose ends do not fit together: they differ in number, size or
 * function, or a message is received before it is sent, or a collective is left before all have come. The second reading
 * leaves these out.
 */
#include "analysis/analysis_lanes.h"

void pause_turn(struct analysis_lane *lane)
{
    struct analysis_process *process = lane->process;
    bool is_off = process->off_since_ns != UINT64_MAX;
    if (lane->call.event.peer && is_off) {
        process->off_ns = pause_ns(process, lane->begin_ns);
        process->off_since_ns = UINT64_MAX;
        process->stretch++;
    } else if (!lane->call.event.peer && !is_off) {
        process->off_since_ns = lane->begin_ns;
        process->offs++;
    }
}

uint64_t pause_ns(const struct analysis_process *process, uint64_t until_ns)
{
    return process->off_ns + (until_ns > process->off_since_ns ? until_ns - process->off_since_ns : 0);
}

bool pause_hides_message(const struct analysis *analysis, const struct envelope *envelope)
{
    return analysis->doubts.count && matching_doubts(&analysis->doubts, envelope);
}

bool pause_hides_operations(const struct analysis *analysis, uint32_t comm, uint32_t stretch)
{
    return analysis->unclear.count && keytable_find(&analysis->unclear, comm, stretch) != NULL;
}

void pause_doubt_operation(struct analysis *analysis, const struct gathering *gathering)
{
    if (analysis->judging &&
        !keytable_make(&analysis->unclear, gathering->comm, gathering->stretch, sizeof(struct keyed)))
        analysis->no_memory = true;
}

/* If the process of the other end has no complete record, that is the reason. */
void pause_doubt_rest(struct analysis_lanes *lanes, const struct envelope *envelope, bool sent)
{
    struct analysis *analysis = lanes->analysis;
    int32_t partner = sent ? envelope->dest : envelope->source;
    const struct analysis_process *process = &lanes->processes[partner];
    const struct trace_rank *rank = &analysis->job.ranks[partner];
    bool broke_off = !rank->ended && envelope->stretch >= process->stretch && process->off_since_ns == UINT64_MAX;
    if (rank->run && !process->torn && !broke_off)
        matching_doubt(&analysis->matching, envelope);
}
