#include "job/selectcheck.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NAMES_SHOWN = 8 };

/* Names that were found, each once. */
struct names {
    const char *list[NAMES_SHOWN];
    size_t count; /* may be more than the stored ones */
};

static void names_add(struct names *names, const char *name)
{
    for (size_t i = 0; i < names->count && i < NAMES_SHOWN; i++)
        if (strcmp(names->list[i], name) == 0)
            return;
    if (names->count < NAMES_SHOWN)
        names->list[names->count] = name;
    names->count++;
}

static bool comm_fits(const struct comm_record *comm, const char *pattern)
{
    return selection_name_fits(pattern, comm->name) || (comm->label[0] && selection_name_fits(pattern, comm->label));
}

/* Looks for the pattern in all files, and collects the names that it finds. */
static bool pattern_find(const struct run_dir *dir, const char *pattern, struct names *names)
{
    for (size_t i = 0; i < dir->job_count; i++)
        for (size_t k = 0; k < dir->jobs[i].file_count; k++) {
            const struct run_reader *file = &dir->jobs[i].files[k];
            for (size_t number = 0; number < file->comm_count; number++) {
                if (!file->comms[number])
                    continue;
                if (comm_fits(file->comms[number], pattern))
                    return true;
                names_add(names, file->comms[number]->name);
            }
        }
    return false;
}

/* Writes complete names, so that the user can copy them: as many as fit. */
static void names_tell(const char *pattern, const struct names *names, char problem[SELECT_PROBLEM_BYTES])
{
    static const char others[] = " and others (--json lists them)";
    size_t used =
        (size_t)snprintf(problem, SELECT_PROBLEM_BYTES, "no communicator has the name '%.60s'; the names are", pattern);
    size_t room = SELECT_PROBLEM_BYTES - sizeof others, n = 0;
    for (; n < names->count && n < NAMES_SHOWN && used + strlen(names->list[n]) + 2 < room; n++)
        used += (size_t)snprintf(problem + used, room - used, "%s %s", n ? "," : "", names->list[n]);
    if (n < names->count)
        memcpy(problem + used, others, sizeof others);
}

static int comms_check(const struct selection *selection, const struct run_dir *dir, char problem[SELECT_PROBLEM_BYTES])
{
    for (size_t i = 0; i < selection->comm_count; i++) {
        struct names names = {.count = 0};
        if (pattern_find(dir, selection->comms[i], &names))
            continue;
        names_tell(selection->comms[i], &names, problem);
        return -1;
    }
    return 0;
}

enum { CLOCKS_DIFFER_NS = 1000000000 };

/* Its end is recorded, and its node's clock was not set back meanwhile. */
static bool lasted_as_told(const struct run_reader *reader)
{
    const struct run_header *header = &reader->header;
    uint64_t begin = header->begin_realtime_ns, end = header->end_realtime_ns;
    if (!begin || end <= begin)
        return false;
    return header->end_ticks < header->begin_ticks /* killed: only that clock is known */
           || clock_ns(run_reader_scale(reader), header->end_ticks - header->begin_ticks) <=
                  end - begin + CLOCKS_DIFFER_NS;
}

/* Returns the duration of the longest job by the clocks of its nodes, or -1 if it is not known. */
static int64_t longest_job_ns(const struct run_dir *dir)
{
    uint64_t longest = 0;
    for (size_t i = 0; i < dir->job_count; i++) {
        uint64_t begin = UINT64_MAX, end = 0;
        for (size_t k = 0; k < dir->jobs[i].file_count; k++) {
            const struct run_header *header = &dir->jobs[i].files[k].header;
            if (!lasted_as_told(&dir->jobs[i].files[k]))
                return -1;
            begin = header->begin_realtime_ns < begin ? header->begin_realtime_ns : begin;
            end = header->end_realtime_ns > end ? header->end_realtime_ns : end;
        }
        if (end > begin && end - begin > longest)
            longest = end - begin;
    }
    return longest < INT64_MAX ? (int64_t)longest : -1;
}

static int window_check(const struct selection *selection, const struct run_dir *dir,
                        char problem[SELECT_PROBLEM_BYTES])
{
    int64_t longest = longest_job_ns(dir);
    if (!selection->windowed || longest < 0 || selection->from_ns <= CLOCKS_DIFFER_NS ||
        selection->from_ns - CLOCKS_DIFFER_NS <= longest)
        return 0;
    snprintf(problem, SELECT_PROBLEM_BYTES, "--window begins at %.3f s, but the job lasted only %.3f s",
             (double)selection->from_ns / 1e9, (double)longest / 1e9);
    return -1;
}

int selection_check(const struct selection *selection, const struct run_dir *dir, char problem[SELECT_PROBLEM_BYTES])
{
    int32_t size = 0;
    size_t files = 0;
    for (size_t i = 0; i < dir->job_count; i++) {
        int32_t world = dir->jobs[i].summary ? (int32_t)dir->jobs[i].summary->world_size : 0;
        size = world > size ? world : size;
        for (size_t k = 0; k < dir->jobs[i].file_count; k++, files++) {
            const struct run_header *header = &dir->jobs[i].files[k].header;
            if (run_size(header) > size)
                size = run_size(header);
            if (run_rank(header) >= size && run_rank(header) < INT32_MAX)
                size = run_rank(header) + 1;
        }
    }
    for (size_t i = 0; i < selection->rank_count && size; i++) {
        const struct rank_range *range = &selection->ranks[i];
        int32_t beyond = range->last != INT32_MAX ? range->last : range->first;
        if (beyond < size)
            continue;
        snprintf(problem, SELECT_PROBLEM_BYTES,
                 "--ranks: rank %" PRId32 " does not exist; the job has ranks 0 to %" PRId32, beyond, size - 1);
        return -1;
    }
    if (!files)
        return 0;
    return window_check(selection, dir, problem) == 0 ? comms_check(selection, dir, problem) : -1;
}
