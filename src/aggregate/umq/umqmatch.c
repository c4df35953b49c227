#include "umq/umqmatch.h"

#include "base/number.h"
#include "format/event.h"

bool match_message(struct match *match, unsigned process, bool known, int32_t tag, uint64_t count)
{
    if (match->message_count == MATCH_MESSAGES)
        return false;
    match->messages[match->message_count++] =
        (struct match_messages){.process = (uint16_t)process, .known = known, .tag = tag, .count = count};
    return true;
}

static void from_anywhere(struct match *match, int32_t tag)
{
    for (unsigned m = 0; m < match->message_count && tag != TAG_ANY; m++)
        if (match->messages[m].known && match->messages[m].tag == tag) {
            match->messages[m].by_tag++;
            return;
        }
    if (tag == TAG_ANY)
        match->any++;
    else
        match->untold++;
}

void match_receive(struct match *match, int32_t rank, int32_t tag)
{
    unsigned process = 0;
    match->all++;
    if (rank == PEER_ANY) {
        from_anywhere(match, tag);
        return;
    }
    while (process < match->process_count && match->processes[process].rank != rank)
        process++;
    if (process == match->process_count)
        return; /* no message waits from there */
    for (unsigned m = 0; m < match->message_count && tag != TAG_ANY; m++) {
        struct match_messages *messages = &match->messages[m];
        if (messages->process == process && messages->known && messages->tag == tag) {
            messages->receives++;
            return;
        }
    }
    if (tag == TAG_ANY)
        match->processes[process].any_tag++;
    else
        match->processes[process].receives++;
}

/* Receives take as many of these messages as they can. Returns how many are left. */
static uint64_t receives_take(struct match_messages *messages, uint64_t receives)
{
    uint64_t taken = least(messages->count, receives);
    messages->count -= taken;
    return receives - taken;
}

static uint64_t messages_left(const struct match *match)
{
    uint64_t left = 0;
    for (unsigned m = 0; m < match->message_count; m++)
        left += match->messages[m].count;
    return left;
}

/* True if receives from anywhere name the tag of these. */
static bool wanted_elsewhere(const struct match *match, const struct match_messages *messages)
{
    for (unsigned m = 0; m < match->message_count && messages->known; m++)
        if (match->messages[m].known && match->messages[m].tag == messages->tag)
            return match->messages[m].by_tag > 0;
    return false;
}

uint64_t match_named(struct match *match)
{
    enum { TAG_UNKNOWN, WANTED_BY_NONE, ALL };
    for (unsigned m = 0; m < match->message_count; m++) /* left over receives may take messages of unknown tags */
        if (match->messages[m].known)
            match->processes[match->messages[m].process].receives +=
                (uint32_t)receives_take(&match->messages[m], match->messages[m].receives);
    for (unsigned pass = TAG_UNKNOWN; pass <= ALL; pass++)
        for (unsigned m = 0; m < match->message_count; m++) {
            struct match_messages *messages = &match->messages[m];
            uint32_t *receives = pass == TAG_UNKNOWN ? &match->processes[messages->process].receives
                                                     : &match->processes[messages->process].any_tag;
            if (pass == ALL || (pass == TAG_UNKNOWN ? !messages->known : !wanted_elsewhere(match, messages)))
                *receives = (uint32_t)receives_take(messages, *receives);
        }
    return messages_left(match);
}

uint64_t match_anywhere(struct match *match)
{
    for (unsigned first = 0; first < match->message_count; first++) {
        uint64_t receives = match->messages[first].by_tag;
        for (unsigned m = first; m < match->message_count && receives; m++)
            if (match->messages[m].known && match->messages[m].tag == match->messages[first].tag)
                receives = receives_take(&match->messages[m], receives);
        match->untold += receives;
    }
    for (unsigned m = 0; m < match->message_count; m++)
        if (!match->messages[m].known)
            match->untold = receives_take(&match->messages[m], match->untold);
    for (unsigned m = 0; m < match->message_count; m++)
        match->any = receives_take(&match->messages[m], match->any);
    return messages_left(match);
}
