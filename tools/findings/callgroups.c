#include "findings/callgroups.h"

#include "aggregate/figures/cells.h"
#include "calls.h"

#include <string.h>

/* Sizes that are small. */
enum { SMALL_COLLECTIVE_BYTES = 64, SMALL_IO_BYTES = 65536 };

static bool name_has(unsigned kind, const char *part)
{
    return strstr(call_table[kind].name, part) != NULL;
}

static double bytes_a_call(uint64_t bytes, uint64_t count)
{
    return count ? (double)bytes / (double)count : 0;
}

/* Making an object, and making it go away. */
static bool makes_object(const struct summary_site *site)
{
    static const char *const parts[] = {"MPI_Comm_dup",     "MPI_Comm_split", "MPI_Comm_create",  "MPI_Cart_create",
                                        "MPI_Graph_create", "MPI_Dist_graph", "MPI_Intercomm_",   "MPI_Comm_free",
                                        "MPI_Comm_idup",    "MPI_Win_create", "MPI_Win_allocate", "MPI_Win_free",
                                        "MPI_File_open",    "MPI_File_close", "MPI_Type_",        "MPI_Cart_sub"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (name_has(site->kind, parts[i]))
            return true;
    return false;
}

static bool is_small_io(const struct summary_site *site)
{
    bool transfer =
        name_has(site->kind, "MPI_File_") && (name_has(site->kind, "read") || name_has(site->kind, "write"));
    return transfer && bytes_a_call(site->bytes_out + site->bytes_in, site->count) < SMALL_IO_BYTES;
}

static bool is_small_collective(const struct summary_site *site)
{
    uint64_t larger = site->bytes_out > site->bytes_in ? site->bytes_out : site->bytes_in;
    return call_table[site->kind].class == CLASS_COLLECTIVE &&
           bytes_a_call(larger, site->count) <= SMALL_COLLECTIVE_BYTES;
}

/* Probes in vain are not counted. At least those are that found no message which this site, or another, received. */
static bool is_poll(const struct summary_site *site)
{
    bool probe = site->kind == CALL_MPI_Iprobe || site->kind == CALL_MPI_Improbe;
    return probe || (site->empty && site->empty >= site->count - site->count / 10);
}

static bool sends_small(const struct summary_site *site)
{
    uint64_t messages = site->sent + site->received;
    return messages && site->bytes_out + site->bytes_in < messages * PATH_SMALL_BYTES;
}

enum call_group call_group_of(const struct summary_site *site)
{
    if (site->kind == CALL_NONE || call_is_end(site->kind))
        return GROUP_NONE;
    if (site->kind == CALL_MPI_Barrier || site->kind == CALL_MPI_Ibarrier)
        return GROUP_BARRIERS;
    if (makes_object(site))
        return GROUP_OBJECTS;
    if (is_small_io(site))
        return GROUP_SMALL_IO;
    if (is_poll(site))
        return GROUP_POLLS;
    if (is_small_collective(site))
        return GROUP_SMALL_COLLECTIVES;
    return sends_small(site) ? GROUP_SMALL_MESSAGES : GROUP_NONE;
}

struct group_sum call_group_sum(const struct summary *summary, enum call_group group)
{
    struct group_sum sum = {.longest = NULL};
    for (uint64_t i = 0; i < summary->sites.count; i++) {
        const struct summary_site *site = &summary->sites.list[i];
        if (call_group_of(site) != group)
            continue;
        sum.calls += site->count;
        sum.messages += site->sent + site->received;
        sum.sent += site->sent;
        if (!sum.longest || site->time_ns > sum.longest->time_ns)
            sum.longest = site;
    }
    return sum;
}

bool call_group_is_large(const struct group_sum *sum, enum call_group group, double ranks)
{
    static const double least[CALL_GROUPS] = {
        [GROUP_SMALL_MESSAGES] = 100, [GROUP_SMALL_COLLECTIVES] = 100, [GROUP_BARRIERS] = 10,
        [GROUP_OBJECTS] = 10,         [GROUP_SMALL_IO] = 100,          [GROUP_POLLS] = 100};
    return sum->longest && (double)(group == GROUP_SMALL_MESSAGES ? sum->messages : sum->calls) >= least[group] * ranks;
}
