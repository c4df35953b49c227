/* A script as a time-independent trace of SimGrid's smpirun -replay: a file for each rank, one with their names, and the
 * platform that was recorded. */
#include "script/script.h"

#include <inttypes.h>

#define DEFAULT_LATENCY_NS 1000.0 /* of a job without messages */
#define DEFAULT_BYTE_NS 0.1

struct simgrid {
    FILE *out;
    int32_t rank;
};

static void simgrid_step(void *data, const struct step *step)
{
    static const char *const names[] = {
        [STEP_COMPUTE] = "compute", [STEP_SEND_BEGIN] = "isend", [STEP_RECEIVE_BEGIN] = "irecv"};
    const struct simgrid *to = data;
    fprintf(to->out, "%" PRId32 " ", to->rank);
    if (step->kind == STEP_COMPUTE)
        fprintf(to->out, "compute %" PRIu64 "\n", step->amount);
    else if (step->kind == STEP_SEND_END)
        fprintf(to->out, "wait %" PRId32 " %" PRId32 " %" PRIu32 "\n", to->rank, step->peer, step->tag);
    else if (step->kind == STEP_RECEIVE_END)
        fprintf(to->out, "wait %" PRId32 " %" PRId32 " %" PRIu32 "\n", step->peer, to->rank, step->tag);
    else
        fprintf(to->out, "%s %" PRId32 " %" PRIu32 " %" PRIu64 "\n", names[step->kind], step->peer, step->tag,
                step->amount);
}

static int simgrid_rank(const struct script *script, int32_t rank, const char *directory,
                        char error[OUTPUT_ERROR_BYTES])
{
    char name[32];
    snprintf(name, sizeof name, "rank%" PRId32 ".txt", rank);
    struct simgrid to = {output_file_open_in(directory, name, error), rank};
    if (!to.out)
        return -1;
    fprintf(to.out, "%" PRId32 " init\n", rank);
    script_walk(script, rank, &to, simgrid_step);
    fprintf(to.out, "%" PRId32 " finalize\n", rank);
    return output_file_close_in(to.out, directory, name, error);
}

/* One host a rank. A message has two links. A computation of an operation is a nanosecond. */
static int simgrid_platform(const struct script *script, const char *directory, char error[OUTPUT_ERROR_BYTES])
{
    FILE *out = output_file_open_in(directory, "platform.xml", error);
    double latency_ns = script->latency_ns > 0 ? script->latency_ns : DEFAULT_LATENCY_NS;
    double byte_ns = script->byte_ns > 0 ? script->byte_ns : DEFAULT_BYTE_NS;
    if (!out)
        return -1;
    fprintf(out,
            "<?xml version=\"1.0\"?>\n"
            "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
            "<platform version=\"4.1\">\n"
            "  <cluster id=\"ranks\" prefix=\"rank\" suffix=\"\" radical=\"0-%" PRId32
            "\" speed=\"1Gf\" bw=\"%.0fBps\" "
            "lat=\"%.1fns\"/>\n"
            "</platform>\n",
            script->rank_count - 1, 1e9 / byte_ns, latency_ns / 2);
    return output_file_close_in(out, directory, "platform.xml", error);
}

/* The recorded run on the recorded network. */
static int simgrid_command(const struct script *script, const char *directory, char error[OUTPUT_ERROR_BYTES])
{
    FILE *out = output_file_open_in(directory, "replay.sh", error);
    if (!out)
        return -1;
    fprintf(out,
            "cd \"$(dirname \"$0\")\" &&\n"
            "smpirun -np %" PRId32 " -platform platform.xml --cfg=network/model:CM02 "
            "--cfg=smpi/send-is-detached-thresh:%d -replay ranks\n",
            script->rank_count, SCRIPT_LARGE);
    return output_file_close_in(out, directory, "replay.sh", error);
}

/* Written last: it says that the other files are complete. */
static int simgrid_names(const struct script *script, const char *directory, char error[OUTPUT_ERROR_BYTES])
{
    FILE *out = output_file_open_in(directory, "ranks", error);
    if (!out)
        return -1;
    for (int32_t rank = 0; rank < script->rank_count; rank++)
        fprintf(out, "rank%" PRId32 ".txt\n", rank);
    return output_file_close_in(out, directory, "ranks", error);
}

int simgrid_write(const struct script *script, const char *directory, char error[OUTPUT_ERROR_BYTES])
{
    for (int32_t rank = 0; rank < script->rank_count; rank++)
        if (simgrid_rank(script, rank, directory, error) != 0)
            return -1;
    if (simgrid_platform(script, directory, error) != 0 || simgrid_command(script, directory, error) != 0)
        return -1;
    return simgrid_names(script, directory, error);
}
