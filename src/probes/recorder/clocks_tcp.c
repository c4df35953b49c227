#define _GNU_SOURCE
#include "recorder/clocks_tcp.h"

#include "registry/book.h"
#include "base/cancel.h"
#include "clock/clockparty.h"
#include "recorder/clocks_file.h"
#include "recorder/clocks_own.h"
#include "recorder/job.h"
#include "recorder/recorder.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

/* Times of a stage: until rank 0's leader goes on without the missing ones, and for the whole stage. */
#define GATHER_NS UINT64_C(80000000)
#define WHOLE_NS UINT64_C(200000000)

static struct {
    struct clock_party party; /* of rank 0's leader, from clocks_tcp_expect on */
    bool expects, published;
} root;

static bool leads(const struct launch *launch)
{
    return job_launch_is_wide(launch) && (launch->local_rank == 0 || launch->rank == 0);
}

static void path_find(const struct launch *launch, enum clocks_stage stage, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s/.mpit-clock-%016" PRIx64 "-%d", recorder_directory(),
             job_number(recorder_asked(), launch->size), (int)stage);
}

static struct clock_member member_of(const struct launch *launch)
{
    bool first = launch->local_rank == 0; /* else another process counts the ones of the node */
    return (struct clock_member){.rank = (uint32_t)launch->rank,
                                 .world = (uint32_t)launch->size,
                                 .processes = first && launch->local_size > 0 ? (uint32_t)launch->local_size : 0,
                                 .nodes = launch->nodes > 0 ? (uint32_t)launch->nodes : 0,
                                 .kernel = clock_own_kernel()};
}

void clocks_tcp_expect(enum clocks_stage stage)
{
    char path[PATH_MAX];
    struct launch launch = job_launch();
    if (launch.rank != 0 || !leads(&launch))
        return;
    int cancel = cancel_hold();
    struct clock_member self = member_of(&launch);
    path_find(&launch, stage, path);
    root.expects = clock_party_open(&root.party, &self);
    root.published = root.expects && clocks_file_publish(path, &root.party.server);
    cancel_release(cancel);
}

/* ---- rank 0's leader --------------------------------------------------------------------------------------------- */

static enum clock_trouble others_answer(const struct clock_timer *timer, struct clock_scale scale)
{
    struct clock_timer patience = clock_timer_start(scale, GATHER_NS);
    struct clock_reference reference = {.map = clock_own_map()};
    if (!root.expects || !root.published)
        return CLOCK_TROUBLE_NO_SOCKET;
    if (!clocks_file_published(&patience))
        return CLOCK_TROUBLE_NO_ANSWER;
    bool all = clock_party_gather(&root.party, scale, &patience);
    if (root.party.place.nodes > 1) {
        clock_own_keep(clock_own_now(), true);
        clock_own_say(CLOCK_WAY_TCP, CLOCK_TROUBLE_NONE);
    }
    clock_party_serve(&root.party, &reference, timer);
    return all ? CLOCK_TROUBLE_NONE : CLOCK_TROUBLE_INCOMPLETE;
}

static enum clock_trouble root_measure(const struct launch *launch, enum clocks_stage stage,
                                       const struct clock_timer *timer, struct clock_scale scale)
{
    char path[PATH_MAX];
    enum clock_trouble trouble = others_answer(timer, scale);
    if (root.published) {
        path_find(launch, stage, path);
        clocks_file_remove(path, timer);
    }
    if (root.expects)
        clock_party_close(&root.party);
    root.expects = root.published = false;
    return trouble;
}

/* ---- the others -------------------------------------------------------------------------------------------------- */

static enum clock_trouble server_find(const char *path, struct clock_server *server, struct clock_scale scale)
{
    struct clock_timer patience = clock_timer_start(scale, GATHER_NS);
    switch (clocks_file_find(path, server, &patience)) {
    case CLOCKS_FILE_FOUND:
        return CLOCK_TROUBLE_NONE;
    case CLOCKS_FILE_MISSING:
        return CLOCK_TROUBLE_NO_ADDRESS;
    case CLOCKS_FILE_STUCK:
        return CLOCK_TROUBLE_NO_ANSWER;
    case CLOCKS_FILE_NO_THREAD:
        break;
    }
    return CLOCK_TROUBLE_NO_SOCKET;
}

static enum clock_trouble party_take_part(struct clock_party *party, const struct clock_server *server,
                                          const struct clock_timer *timer, struct clock_scale scale)
{
    struct clock_sync sync;
    switch (clock_party_join(party, scale, server, timer)) {
    case CLOCK_UNREACHABLE:
        return CLOCK_TROUBLE_UNREACHABLE;
    case CLOCK_LEFT_OUT:
        return CLOCK_TROUBLE_LEFT_OUT;
    case CLOCK_SHARES:
        return CLOCK_TROUBLE_NONE;
    case CLOCK_JOINED:
        break;
    }
    if (!clock_party_measure(party, timer, &sync))
        return CLOCK_TROUBLE_NO_ECHO;
    clock_own_keep(sync, false);
    clock_own_say(CLOCK_WAY_TCP, CLOCK_TROUBLE_NONE);
    struct clock_reference reference = {clock_own_map(), &sync};
    clock_party_serve(party, &reference, timer);
    return CLOCK_TROUBLE_NONE;
}

static enum clock_trouble other_measure(const struct launch *launch, enum clocks_stage stage,
                                        const struct clock_timer *timer, struct clock_scale scale)
{
    char path[PATH_MAX];
    struct clock_party party;
    struct clock_server server;
    struct clock_member self = member_of(launch);
    path_find(launch, stage, path);
    enum clock_trouble trouble = server_find(path, &server, scale);
    if (trouble)
        return trouble;
    if (!clock_party_open(&party, &self))
        return CLOCK_TROUBLE_NO_SOCKET;
    trouble = party_take_part(&party, &server, timer, scale);
    clock_party_close(&party);
    return trouble;
}

void clocks_tcp_measure(enum clocks_stage stage)
{
    struct launch launch = job_launch();
    if (!leads(&launch) || !book.run.header)
        return;
    int cancel = cancel_hold();
    clock_own_open();
    struct clock_scale scale = clock_own_map()->scale;
    struct clock_timer timer = clock_timer_start(scale, WHOLE_NS);
    enum clock_trouble trouble =
        launch.rank == 0 ? root_measure(&launch, stage, &timer, scale) : other_measure(&launch, stage, &timer, scale);
    clock_own_say(CLOCK_WAY_NONE, trouble);
    cancel_release(cancel);
}
