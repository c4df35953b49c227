/* A summary that is made smaller: what shares a line, and what goes. */
#include "unittest.h"

#include "summary/summary.h"
#include "summary/summaryphases.h"
#include "summary/summarysites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COMMS = 40, SITES = 50, SENDS = 3, INSTRUMENTS = 3 };

static void part_fill(struct summary *part)
{
    *part = (struct summary){.ranks = 1};
    part->comms = calloc(COMMS, sizeof *part->comms);
    part->sites.list = calloc(SITES, sizeof *part->sites.list);
    part->sites.frames = calloc(SITES, sizeof *part->sites.frames);
    assert_true(part->comms && part->sites.list && part->sites.frames);
    for (unsigned i = 0; i < COMMS; i++) {
        struct summary_comm *comm = &part->comms[part->comm_count++];
        snprintf(comm->name, sizeof comm->name, "world/comm%03u", i);
        comm->ranks = 1;
        comm->merged = 1;
        comm->send_count = SENDS;
    }
    for (unsigned i = 0; i < SITES; i++) {
        part->sites.list[i] = (struct summary_site){
            .hash = i + 1, .kind = 1, .first_frame = i, .frame_count = 1, .count = 1, .time_ns = 1000 * i, .ranks = 1};
        part->sites.frames[i].address = i;
        part->sites.frames[i].function = summary_text_add(&part->sites, i % 2 ? "odd" : "even");
    }
    part->sites.count = part->sites.frame_count = SITES;
    part->instruments = calloc(INSTRUMENTS, sizeof *part->instruments);
    assert_non_null(part->instruments);
    for (; part->instrument_count < INSTRUMENTS; part->instrument_count++)
        part->instruments[part->instrument_count].ranks = 1;
    for (unsigned i = 0; i < 4; i++) {
        struct summary_phase phase = {.region = i == 3, .run_ns = i == 1 ? 1 : 10, .count = 1};
        snprintf(phase.name, sizeof phase.name, "phase%u", i);
        assert_int_equal(summary_phase_add(part, &phase), 0);
    }
}

static uint64_t sends_of(const struct summary *summary)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < summary->comm_count; i++)
        sum += summary->comms[i].send_count;
    return sum;
}

static uint64_t calls_of(const struct summary *summary)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < summary->sites.count; i++)
        sum += summary->sites.list[i].count;
    return sum;
}

TEST(sites_that_go_take_their_frames_along)
{
    struct summary part;
    part_fill(&part);
    summary_sites_trim(&part, 5);
    EQUALS({part.sites.count, 5}, {part.sites.frame_count, 4});
    assert_int_equal(calls_of(&part), SITES);
    assert_true(summary_sites_are_sound(&part));
    for (size_t i = 1; i < part.sites.count; i++) {
        const struct summary_site *site = &part.sites.list[i];
        const struct summary_frame *frame = &part.sites.frames[site->first_frame];
        assert_true(site->hash > SITES - 4 && frame->address == site->hash - 1);
        assert_string_equal(summary_text(&part.sites, frame->function), frame->address % 2 ? "odd" : "even");
    }
    summary_release(&part);
}

TEST(each_step_is_smaller_and_totals_stay)
{
    struct summary part;
    size_t before = SIZE_MAX, bytes;
    part_fill(&part);
    do {
        void *flat = summary_pack(&part, &bytes);
        assert_true(flat && bytes < before);
        before = bytes;
        free(flat);
        assert_int_equal(sends_of(&part), COMMS * SENDS);
        assert_int_equal(calls_of(&part), SITES);
        assert_int_equal(part.phase_count + part.instrument_count + part.instruments_left_out, 4 + INSTRUMENTS);
        assert_true(part.phase_count != 2 || strcmp(part.phases[1].name, "phase2") == 0);
    } while (summary_reduce(&part));
    EQUALS({part.comm_count, 2}, {part.sites.count, 1}, {part.phase_count, 0});
    summary_release(&part);
}
