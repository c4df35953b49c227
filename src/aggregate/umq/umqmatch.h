/*
 * How many waiting messages are left when each pending receive has taken one. The order: receives that name source and
 * tag, then receives that name the source, then receives that name the tag, then receives that take anything.
 *
 * A message whose tag is not known may be taken by each receive that its source fits. The order of posts and arrivals
 * is not known. A message may fit a receive with a wildcard and another one. Then the library may have chosen the other
 * way, and may have more left. Without wildcards the number is right.
 */
#ifndef MPIT_AGGREGATE_UMQMATCH_H
#define MPIT_AGGREGATE_UMQMATCH_H

#include <stdbool.h>
#include <stdint.h>

enum { MATCH_PROCESSES = 32, MATCH_MESSAGES = 64 };

/* Messages of one process with one tag, or with unknown tags. */
struct match_messages {
    uint16_t process; /* its place */
    bool known;
    int32_t tag;
    uint64_t count;
    uint32_t receives; /* that name both */
    uint32_t by_tag;   /* that name only the tag: at the first place with it */
};

struct match {
    unsigned process_count, message_count;
    struct {
        int32_t rank;
        uint32_t receives; /* that name a tag which no known message of it has */
        uint32_t any_tag;
    } processes[MATCH_PROCESSES];
    struct match_messages messages[MATCH_MESSAGES];
    uint64_t untold; /* receives from anywhere with a tag of no known message */
    uint64_t any;    /* receives of anything */
    uint64_t all;    /* number of added receives */
};

/* First add all processes and messages, then the receives. There must be fewer than MATCH_PROCESSES processes. */
static inline unsigned match_process(struct match *match, int32_t rank)
{
    match->processes[match->process_count].rank = rank;
    match->processes[match->process_count].receives = match->processes[match->process_count].any_tag = 0;
    return match->process_count++;
}

/* Returns false without room. */
bool match_message(struct match *match, unsigned process, bool known, int32_t tag, uint64_t count);

/* `rank` may be PEER_ANY, `tag` TAG_ANY. */
void match_receive(struct match *match, int32_t rank, int32_t tag);

/* The messages left after the receives that name a source. Uses them up. */
uint64_t match_named(struct match *match);
/* The messages left after the receives from anywhere, too. */
uint64_t match_anywhere(struct match *match);

#endif
