#include "profile/pprof.h"

#include "base/keytable.h"
#include "base/array.h"
#include "definitions/otf2_strings.h"
#include "format/label.h"

#include <inttypes.h>
#include <pprof.pb-c.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { LABELS = 3, VALUES = 2 };

/* A function, by its frame, or a state. */
struct function {
    struct keyed keyed; /* number of the frame and address of its file's name, or state and 1 */
    Pprof__Function message;
};

/* A line of a function. */
struct location {
    struct keyed keyed; /* function, line */
    Pprof__Location message;
    Pprof__Line line, *lines[1];
};

/* A stack of one thread in one state, in a tree by `key`. */
struct stack {
    struct stack *next_made;
    Pprof__Sample message;
    int64_t values[VALUES];
    Pprof__Label labels[LABELS], *label_list[LABELS];
    size_t key_count;
    uint64_t key[]; /* rank, thread, state, then the locations, the innermost first */
};

struct writing {
    struct stacks *stacks;
    struct trace_strings texts;
    struct keytable functions, locations;
    void *tree;
    struct stack *first, **last;
    size_t stack_count;
    uint64_t period_ns, first_ns, last_ns;
    bool no_memory;
};

static int64_t text_number(struct writing *w, const char *text)
{
    uint32_t id = trace_strings_id(&w->texts, text);
    w->no_memory |= id == UINT32_MAX;
    return id;
}

static struct function *function_of(struct writing *w, const struct stack_frame *frame, unsigned state)
{
    size_t before = w->functions.count;
    uint64_t file = frame ? frame->file_number : 0; /* static functions of several files share one frame */
    struct function *function = frame ? keytable_make(&w->functions, frame->frame->number, file, sizeof *function)
                                      : keytable_make(&w->functions, state, 1, sizeof *function);
    if (function && w->functions.count != before) {
        char name[64];
        snprintf(name, sizeof name, "[%s]", state_texts[state]);
        pprof__function__init(&function->message);
        function->message.id = before + 1;
        function->message.name = function->message.system_name = text_number(w, frame ? frame->frame->name : name);
        function->message.file = text_number(w, frame && frame->file ? frame->file : frame ? frame->frame->module : "");
    }
    return function;
}

/* Returns 0 without memory. If `frame` is NULL, it is the state. */
static uint64_t location_of(struct writing *w, const struct stack_frame *frame, unsigned state)
{
    struct function *function = function_of(w, frame, state);
    uint64_t where = frame ? frame->line : 0;
    size_t before = w->locations.count;
    struct location *location =
        function ? keytable_make(&w->locations, function->message.id, where, sizeof *location) : NULL;
    if (location && w->locations.count != before) {
        pprof__location__init(&location->message);
        pprof__line__init(&location->line);
        location->message.id = before + 1;
        location->message.mapping = 1;
        location->line.function = function->message.id;
        location->line.line = frame ? frame->line : 0;
        location->lines[0] = &location->line;
        location->message.lines = location->lines;
        location->message.n_lines = 1;
    }
    return location ? location->message.id : 0;
}

static int stack_order(const void *one, const void *other)
{
    const struct stack *a = one, *b = other;
    return ORDER(a->key_count, b->key_count) ?: memcmp(a->key, b->key, a->key_count * sizeof *a->key);
}

static void label_set(struct writing *w, struct stack *stack, int at, const char *key, const char *value)
{
    Pprof__Label *label = &stack->labels[at];
    pprof__label__init(label);
    label->key = text_number(w, key);
    label->text = text_number(w, value);
    stack->label_list[at] = label;
}

static void stack_fill(struct writing *w, struct stack *stack, const struct stack_sample *sample)
{
    char rank[32], thread[64];
    snprintf(rank, sizeof rank, sample->rank < 0 ? "none" : "%" PRId32, sample->rank);
    snprintf(thread, sizeof thread, "%s %" PRId32, sample->sample->name, sample->sample->tid);
    text_tidy(thread, sizeof thread); /* the program may have given it any name */
    pprof__sample__init(&stack->message);
    label_set(w, stack, 0, "rank", rank);
    label_set(w, stack, 1, "thread", thread);
    label_set(w, stack, 2, "state", state_texts[sample->sample->state]);
    stack->message.labels = stack->label_list;
    stack->message.n_labels = LABELS;
    stack->message.values = stack->values;
    stack->message.n_values = VALUES;
    stack->message.locations = stack->key + 3;
    stack->message.n_locations = stack->key_count - 3;
    *w->last = stack;
    w->last = &stack->next_made;
    w->stack_count++;
}

/* Returns the stack of the sample, and makes it if needed. */
static struct stack *stack_of(struct writing *w, const struct stack_sample *sample)
{
    unsigned tip = sample->sample->call != 0;
    size_t count = 3 + sample->count + tip;
    struct stack *stack = calloc(1, sizeof *stack + count * sizeof *stack->key);
    if (!stack)
        return NULL;
    stack->key_count = count;
    stack->key[0] = (uint64_t)(uint32_t)sample->rank << 32 | sample->run->header.pid;
    stack->key[1] = (uint64_t)sample->stream << 32 | (uint32_t)sample->sample->tid;
    stack->key[2] = sample->sample->state;
    uint64_t *at = stack->key + 3;
    if (tip)
        *at++ = location_of(w, NULL, sample->sample->state);
    for (unsigned i = sample->count; i-- > 0;)
        *at++ = location_of(w, &sample->frames[i], 0);
    for (size_t i = 3; i < count; i++)
        w->no_memory |= stack->key[i] == 0;
    struct stack *const *found = w->no_memory ? NULL : tsearch(stack, &w->tree, stack_order);
    if (!found || *found != stack) {
        free(stack);
        return found ? *found : NULL;
    }
    stack_fill(w, stack, sample);
    return stack;
}

static int pprof_sample_add(void *data, const struct stack_sample *sample)
{
    struct writing *w = data;
    uint64_t at_ns = sample->at_ns > 0 ? (uint64_t)sample->at_ns : 0;
    struct stack *stack = stack_of(w, sample);
    if (!stack)
        return -1;
    stack->values[0]++;
    stack->values[1] += (int64_t)sample->weight_ns;
    w->period_ns = sample->sample->period_ns;
    w->first_ns = at_ns < w->first_ns ? at_ns : w->first_ns;
    w->last_ns = at_ns > w->last_ns ? at_ns : w->last_ns;
    return w->no_memory ? -1 : 0;
}

/* ---- the message ------------------------------------------------------------------------------------------------- */

static int gzip_write(const uint8_t *bytes, size_t count, FILE *out)
{
    static const int GZIP_WINDOW = 15 + 16, MEMORY = 8;
    uint8_t buffer[1 << 16];
    z_stream stream = {0};
    int step = Z_OK;
    if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
        return -1;
    while (step != Z_STREAM_END) {
        if (!stream.avail_in && count) {
            stream.avail_in = count < (1u << 30) ? (unsigned)count : 1u << 30;
            stream.next_in = (uint8_t *)(uintptr_t)bytes;
            bytes += stream.avail_in;
            count -= stream.avail_in;
        }
        stream.next_out = buffer;
        stream.avail_out = sizeof buffer;
        step = deflate(&stream, count ? Z_NO_FLUSH : Z_FINISH);
        fwrite(buffer, 1, sizeof buffer - stream.avail_out, out);
    }
    deflateEnd(&stream);
    return 0;
}

static void quantity_set(struct writing *w, Pprof__Quantity *quantity, const char *name, const char *unit)
{
    pprof__quantity__init(quantity);
    quantity->name = text_number(w, name);
    quantity->unit = text_number(w, unit);
}

static int message_write(const Pprof__Profile *profile, FILE *out)
{
    size_t count = pprof__profile__get_packed_size(profile);
    uint8_t *bytes = malloc(count + 1);
    int result = -1;
    if (bytes) {
        pprof__profile__pack(profile, bytes);
        result = gzip_write(bytes, count, out);
    }
    free(bytes);
    return result;
}

/* Arrays of all objects, by id. */
static int lists_write(struct writing *w, Pprof__Profile *profile, FILE *out)
{
    profile->samples = calloc(w->stack_count + 1, sizeof *profile->samples);
    profile->locations = calloc(w->locations.count + 1, sizeof *profile->locations);
    profile->functions = calloc(w->functions.count + 1, sizeof *profile->functions);
    int result = profile->samples && profile->locations && profile->functions ? 0 : -1;
    for (struct stack *stack = w->first; stack && result == 0; stack = stack->next_made)
        profile->samples[profile->n_samples++] = &stack->message;
    for (size_t i = 0; i < w->locations.capacity && result == 0; i++)
        for (struct keyed *keyed = w->locations.buckets[i]; keyed; keyed = keyed->next) {
            struct location *location = (struct location *)keyed;
            profile->locations[location->message.id - 1] = &location->message;
        }
    for (size_t i = 0; i < w->functions.capacity && result == 0; i++)
        for (struct keyed *keyed = w->functions.buckets[i]; keyed; keyed = keyed->next) {
            struct function *function = (struct function *)keyed;
            profile->functions[function->message.id - 1] = &function->message;
        }
    profile->n_locations = w->locations.count;
    profile->n_functions = w->functions.count;
    result = result == 0 ? message_write(profile, out) : -1;
    free(profile->samples);
    free(profile->locations);
    free(profile->functions);
    return result;
}

static int profile_write(struct writing *w, FILE *out)
{
    Pprof__Profile profile;
    Pprof__Quantity quantities[VALUES], period, *list[VALUES] = {&quantities[0], &quantities[1]};
    Pprof__Mapping mapping, *mappings[] = {&mapping};
    pprof__profile__init(&profile);
    pprof__mapping__init(&mapping);
    quantity_set(w, &quantities[0], "samples", "count");
    quantity_set(w, &quantities[1], "time", "nanoseconds");
    quantity_set(w, &period, "time", "nanoseconds");
    mapping.id = 1;
    mapping.file = text_number(w, w->stacks->job->file_count ? w->stacks->job->files[0].header.program : "");
    mapping.has_functions = mapping.has_files = mapping.has_lines = mapping.has_inlined = true;
    profile.sample_quantities = list;
    profile.n_sample_quantities = VALUES;
    profile.mappings = mappings;
    profile.n_mappings = 1;
    profile.period_quantity = &period;
    profile.period = (int64_t)w->period_ns;
    profile.begin_ns = (int64_t)(w->stacks->line.origin_ns + (w->stack_count ? w->first_ns : 0));
    profile.duration_ns = w->stack_count ? (int64_t)(w->last_ns - w->first_ns) : 0;
    profile.texts = w->texts.list;
    profile.n_texts = w->texts.count;
    return w->no_memory ? -1 : lists_write(w, &profile, out);
}

static void stack_node_ignore(void *data)
{
    (void)data; /* stacks are released in their list */
}

int pprof_write(struct stacks *stacks, FILE *out)
{
    struct writing w = {.stacks = stacks, .first_ns = UINT64_MAX};
    w.last = &w.first;
    text_number(&w, ""); /* number 0 */
    int result = stacks_walk(stacks, pprof_sample_add, &w) ?: profile_write(&w, out);
    tdestroy(w.tree, stack_node_ignore);
    for (struct stack *stack = w.first, *next; stack; stack = next) {
        next = stack->next_made;
        free(stack);
    }
    keytable_release(&w.functions, NULL);
    keytable_release(&w.locations, NULL);
    trace_strings_release(&w.texts);
    return result;
}
