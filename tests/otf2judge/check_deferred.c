#include "check_deferred.h"

#include <stdarg.h>
#include <stdio.h>

struct deferred {
    enum check_rule rule;
    const struct process *process, *other;
    struct check_place place;
    uint64_t count;
    char text[CHECK_TEXT_BYTES / 2];
};

static struct map all = {.element_size = sizeof(struct deferred)};

void check_defer(enum check_rule rule, const struct process *process, const struct process *other,
                 struct check_place place, const char *format, ...)
{
    struct deferred *deferred =
        map_at(&all, (uint64_t)rule << 32 | process->id, other ? other->id : (uint64_t)UINT32_MAX + 1);
    if (deferred->count++)
        return;
    va_list args;
    deferred->rule = rule;
    deferred->process = process;
    deferred->other = other;
    deferred->place = place;
    va_start(args, format);
    vsnprintf(deferred->text, sizeof deferred->text, format, args);
    va_end(args);
}

void deferred_tell(void)
{
    MAP_EACH(&all, slot)
    {
        const struct deferred *d = slot->element;
        bool complete = process_is_complete(d->process) && (!d->other || process_is_complete(d->other));
        char more[96] = "";
        if (d->count > 1)
            snprintf(more, sizeof more, " (and %" PRIu64 " more like it of this process%s)", d->count - 1,
                     d->other ? " and peer" : "");
        check_found(complete ? d->rule : RULE_UNFINISHED, &d->place, "%s%s%s%s", d->text, more,
                    complete ? "" : "; it might be ", complete ? "" : check_rules[d->rule].identifier);
    }
}

static size_t recent_slot(uint64_t a, uint64_t b)
{
    return check_mix(a + check_mix(b + 1)) % RECENT_SLOTS;
}

unsigned char recent_mark(const struct recent *recent, uint64_t a, uint64_t b)
{
    const struct recent *slot = &recent[recent_slot(a, b)];
    return slot->a == a && slot->b == b ? slot->mark : 0;
}

void recent_set(struct recent *recent, uint64_t a, uint64_t b, unsigned char mark)
{
    recent[recent_slot(a, b)] = (struct recent){a, b, mark};
}
