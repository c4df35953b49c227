/* A script in the language GOAL (a schedule), as txt2bin of LogGOPSim and ATLAHS read it: operations with labels, and what each of them
 * requires. */
#include "script/script.h"

#include <inttypes.h>

/* A rank that is written. `last` is the number of the operation that the next one requires. */
struct goal {
    FILE *out;
    uint64_t last;
};

/* An operation that needs the last one, and that the next one needs. */
static void goal_chain(struct goal *goal, uint64_t ns)
{
    fprintf(goal->out, "c%" PRIu64 ": calc %" PRIu64 "\nc%" PRIu64 " requires c%" PRIu64 "\n", goal->last + 1, ns,
            goal->last + 1, goal->last);
    goal->last++;
}

/* A message: s, r, its peer and its tag are the label. */
static void goal_message(struct goal *goal, const struct step *step, bool sends)
{
    char letter = sends ? 's' : 'r';
    fprintf(goal->out, "%c%" PRId32 "_%" PRIu32 ": %s %" PRIu64 "b %s %" PRId32 " tag %" PRIu32 "\n", letter,
            step->peer, step->tag, sends ? "send" : "recv", step->amount ? step->amount : 1, sends ? "to" : "from",
            step->peer, step->tag);
    fprintf(goal->out, "%c%" PRId32 "_%" PRIu32 " requires c%" PRIu64 "\n", letter, step->peer, step->tag, goal->last);
}

static void goal_await(struct goal *goal, const struct step *step, bool sends)
{
    goal_chain(goal, 0);
    fprintf(goal->out, "c%" PRIu64 " requires %c%" PRId32 "_%" PRIu32 "\n", goal->last, sends ? 's' : 'r', step->peer,
            step->tag);
}

static void goal_step(void *data, const struct step *step)
{
    struct goal *goal = data;
    switch (step->kind) {
    case STEP_COMPUTE:
        goal_chain(goal, step->amount);
        break;
    case STEP_SEND_BEGIN:
    case STEP_RECEIVE_BEGIN:
        goal_message(goal, step, step->kind == STEP_SEND_BEGIN);
        break;
    case STEP_SEND_END:
    case STEP_RECEIVE_END:
        goal_await(goal, step, step->kind == STEP_SEND_END);
        break;
    }
}

int goal_write(const struct script *script, const char *directory, char error[OUTPUT_ERROR_BYTES])
{
    FILE *out = output_file_open_in(directory, "schedule.goal", error);
    if (!out)
        return -1;
    fprintf(
        out,
        "// txt2bin -i schedule.goal -o schedule.bin && LogGOPSim -f schedule.bin -L %.0f -o 0 -g 0 -G %.0f -S %d\n",
        script->latency_ns, script->byte_ns, SCRIPT_LARGE - 1);
    fprintf(out, "num_ranks %" PRId32 "\n", script->rank_count);
    for (int32_t rank = 0; rank < script->rank_count; rank++) {
        struct goal goal = {.out = out};
        fprintf(out, "\nrank %" PRId32 " {\nc0: calc 0\n", rank);
        script_walk(script, rank, &goal, goal_step);
        fprintf(out, "}\n");
    }
    return output_file_close_in(out, directory, "schedule.goal", error);
}
