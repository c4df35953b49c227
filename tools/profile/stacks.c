#include "profile/stacks.h"

#include "base/array.h"
#include "calls.h"
#include "base/keytable.h"
#include "base/cxxname.h"
#include "base/text.h"

#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const state_texts[MPIT_STATE_STALL_OTHER + 1] = {
    [MPIT_STATE_NOT_IN_MPI] = "not in MPI",   [MPIT_STATE_WORK] = "work",
    [MPIT_STATE_STALL_SEND] = "stall send",   [MPIT_STATE_STALL_RECV] = "stall recv",
    [MPIT_STATE_STALL_COLL] = "stall coll",   [MPIT_STATE_STALL_WAIT] = "stall wait",
    [MPIT_STATE_STALL_OTHER] = "stall other",
};

/* The symbols at an address of a stack. */
struct spot {
    struct keyed keyed; /* address that was looked up, path of the module */
    bool recorder, mpi, c_library, program, vdso, start, main, starter, trampoline;
    unsigned count;
    struct stack_frame frames[]; /* the innermost first */
};

struct walk {
    struct stacks *stacks;
    struct sample_cursor cursor;
    struct keytable spots; /* of this stream: its modules have their place there */
    int (*visit)(void *data, const struct stack_sample *sample);
    void *data;
    const struct spot *at[SAMPLE_FRAMES_MOST];
    struct stack_frame frames[STACK_FRAMES_MOST];
    unsigned count;
};

/* ---- frames ------------------------------------------------------------------------------------------------------ */

static int stack_frame_order(const void *one, const void *other)
{
    const struct frame *a = one, *b = other;
    return strcmp(a->name, b->name) ?: ORDER(a->kind, b->kind) ?: strcmp(a->module, b->module);
}

static void frame_release(void *data)
{
    struct frame *frame = data;
    if (frame) {
        free(frame->name);
        free(frame->module);
        free(frame);
    }
}

static const struct frame *stack_frame_of(struct stacks *stacks, enum frame_kind kind, const char *name,
                                          const char *module)
{
    struct frame wanted = {.kind = kind, .name = (char *)(uintptr_t)name, .module = (char *)(uintptr_t)module};
    struct frame *const *found = tfind(&wanted, &stacks->names, stack_frame_order);
    if (found)
        return *found;
    struct frame *frame = calloc(1, sizeof *frame);
    if (frame)
        *frame = (struct frame){stacks->frame_count, kind, strdup(name), strdup(module)};
    if (frame && frame->name && frame->module && tsearch(frame, &stacks->names, stack_frame_order)) {
        stacks->frame_count++;
        return frame;
    }
    frame_release(frame);
    return NULL;
}

/* The name of a source file. */
struct source {
    const char *text; /* its copy follows */
    uint32_t number;
};

static int source_order(const void *one, const void *other)
{
    return strcmp(((const struct source *)one)->text, ((const struct source *)other)->text);
}

/* Stores each text once, so that texts can be compared by address. Returns NULL for no text, or without memory. */
static const struct source *source_of(struct stacks *stacks, const char *text)
{
    struct source wanted = {.text = text};
    struct source *const *found = text ? tfind(&wanted, &stacks->sources, source_order) : NULL;
    if (!text || found)
        return text ? *found : NULL;
    struct source *source = malloc(sizeof *source + strlen(text) + 1);
    if (!source)
        return NULL;
    *source = (struct source){strcpy((char *)(source + 1), text), stacks->source_count + 1};
    if (!tsearch(source, &stacks->sources, source_order)) {
        free(source);
        return NULL;
    }
    stacks->source_count++;
    return source;
}

static bool is_in_std(const char *name)
{
    return text_begins_with_one(cxx_name_begin(name), "std:: __gnu_cxx::") || text_begins(name, "operator new") ||
           text_begins(name, "operator delete");
}

bool frame_is_runtime(const struct frame *frame)
{
    return is_in_std(frame->name) ||
           text_begins_with_one(frame->module,
                                "libc.so libc- libm.so libm- libmvec libpthread ld-linux libgcc_s. libstdc++. "
                                "libgfortran. libquadmath. libgomp. linux-vdso [vdso]");
}

/* Names of Open MPI, MPICH and their relatives. A program's own libraries may also begin with libmpi. */
static bool is_mpi(const char *module)
{
    return text_begins_with_one(module,
                                "libmpi. libmpi_cxx. libmpi_mpifh. libmpi_usempi libmpi_f77. libmpi_f90. libmpi_java. "
                                "libmpi_abi. libmpi_ilp64. libmpi_dbg libmpi_gtl libmpi_cray libmpi_gnu libmpi_amd "
                                "libmpi_aocc libmpi_pgi libmpi_mt. libmpi_intel libmpi_nvidia libmpi_ibm libmpich "
                                "libmpicxx. libmpichcxx. libmpichf90. libmpifort. libmpigf. libmpigc libmpijava.");
}

static struct spot *spot_make(struct walk *walk, const struct module *module, uint64_t pc)
{
    const char *program = walk->cursor.reader->header.program;
    const struct symbol_place *place = symbols_look_up(walk->stacks->symbols, module, program, pc);
    struct spot *spot = place ? calloc(1, sizeof *spot + place->count * sizeof *spot->frames) : NULL;
    if (!spot)
        return NULL;
    spot->recorder = (text_begins(place->module, "libmpit-") || text_begins(place->module, "libmpit."));
    spot->mpi = is_mpi(place->module);
    spot->c_library = text_begins(place->module, "libc.so") || text_begins(place->module, "libc-") ||
                      text_begins(place->module, "libpthread") || text_begins(place->module, "ld-linux");
    spot->program = module && (!module->path[0] || strcmp(module->path, program) == 0);
    bool is_vdso = text_begins(place->module, "linux-vdso") || strcmp(place->module, "[vdso]") == 0;
    spot->vdso = place->module[0] == '[' || is_vdso;
    for (unsigned i = 0; i < place->count; i++) {
        const struct symbol_line *line = &place->lines[i];
        const char *name = line->function;
        char text[600];
        if (!name && place->start != UINT64_MAX)
            snprintf(text, sizeof text, "%s+0x%" PRIx64, place->module, place->start);
        else if (!name && is_vdso) /* is not a file, so the begins of its functions are unknown */
            snprintf(text, sizeof text, "[vdso]");
        else if (!name)
            snprintf(text, sizeof text, "[%s+0x%" PRIx64 "]", place->module, place->address);
        const struct source *source = source_of(walk->stacks, line->file);
        spot->frames[i] = (struct stack_frame){
            stack_frame_of(walk->stacks, name ? FRAME_PROGRAM : FRAME_UNKNOWN, name ? name : text, place->module),
            source ? source->text : NULL, line->line, source ? source->number : 0};
        if (!spot->frames[i].frame) {
            free(spot);
            return NULL;
        }
        spot->count++;
        spot->start |= name && strcmp(name, "_start") == 0;
        spot->main |= name && spot->program && strcmp(name, "main") == 0;
        spot->starter |= name && spot->c_library && text_begins(name, "__libc_start_"); /* it calls main */
        spot->trampoline |= name && text_begins(name, "__restore_rt");
    }
    return spot;
}

static const struct spot *spot_find(struct walk *walk, uint64_t pc)
{
    const struct module *module = sample_cursor_module(&walk->cursor, pc);
    uint64_t text = module ? (uint64_t)(uintptr_t)module->path : 0;
    struct spot *spot = keytable_find(&walk->spots, pc, text);
    if (spot)
        return spot;
    spot = spot_make(walk, module, pc);
    if (spot && keytable_put(&walk->spots, &spot->keyed, pc, text) == 0)
        return spot;
    free(spot);
    return NULL;
}

/* ---- stacks ------------------------------------------------------------------------------------------------------ */

/* `at` has the place, if one is known. */
static int frame_push(struct walk *walk, const struct frame *frame, const struct stack_frame *at)
{
    if (!frame)
        return -1;
    if (walk->count < STACK_FRAMES_MOST) {
        walk->frames[walk->count] = at ? *at : (struct stack_frame){.file = NULL};
        walk->frames[walk->count++].frame = frame;
    }
    return 0;
}

static int special_push(struct walk *walk, enum frame_kind kind, const char *name)
{
    return frame_push(walk, stack_frame_of(walk->stacks, kind, name, ""), NULL);
}

/* Returns whether the function belongs to the standard library of C++. A template has its type before its name. */
static bool is_standard(const char *name)
{
    const char *begin = name;
    for (int depth = 0; *name && (depth || *name != '('); name++) {
        depth += (*name == '<') - (*name == '>');
        if (*name == ' ' && depth == 0)
            begin = name + 1;
    }
    return text_begins(begin, "std::") || text_begins(begin, "__gnu_cxx::");
}

/* Adds the functions at one address. `internal` means that they belong to MPI. The standard library's count as their
 * caller. */
static int spot_push(struct walk *walk, const struct spot *spot, bool internal)
{
    for (unsigned i = spot->count; i-- > 0;) {
        const struct stack_frame *shown = &spot->frames[i];
        const struct frame *frame = shown->frame;
        if (walk->count && !walk->stacks->internal && is_standard(frame->name))
            continue;
        if (internal)
            frame = stack_frame_of(walk->stacks, FRAME_INTERNAL, frame->name, frame->module);
        if (frame_push(walk, frame, shown) != 0)
            return -1;
    }
    return 0;
}

/* Adds mpit's own time, with its functions if MPI's functions are shown, too. */
static int recorder_push(struct walk *walk)
{
    int result = special_push(walk, FRAME_RECORDER, "[mpit]");
    if (!walk->stacks->internal || !walk->at[0]->recorder)
        return result;
    for (unsigned i = walk->at[0]->count; result == 0 && i-- > 0;) {
        const struct stack_frame *shown = &walk->at[0]->frames[i];
        const struct frame *frame =
            stack_frame_of(walk->stacks, FRAME_RECORDER, shown->frame->name, shown->frame->module);
        result = frame_push(walk, frame, shown);
    }
    return result;
}

/* Returns the name of the function of the C library, or of MPI_T, that this frame of mpit wraps
 * (src/probes/sampler/shield.h). The program called that function, so the inner frames belong to it. Returns NULL for
 * other frames. *module gets the module of the function. That is mpit itself for MPI_T, and for functions that are not
 * in the C library. */
static const char *stand_in(const struct spot *spot, const char **module)
{
    static const char *const files[] = {"shield.c", "shield_signals.c", "stall_sleep.c", "stall_socket.c"};
    static const char *const own[] = {"MPI", "PMPI", "mpi", "pmpi", "ompi_", "opal_", "fi_", "ucp_"};
    static const char prefix[] = "mpit_impl_"; /* without debug information */
    const struct stack_frame *shown = spot->count ? &spot->frames[spot->count - 1] : NULL;
    if (!shown || text_begins(shown->frame->name, "shield_"))
        return NULL;
    bool prefixed = text_begins(shown->frame->name, prefix);
    const char *name = shown->frame->name + (prefixed ? strlen(prefix) : 0);
    const char *file = shown->file ? path_base(shown->file) : NULL;
    bool stands = prefixed || text_begins(name, "MPI_T_"); /* or the library's own work inside it */
    *module = "libc.so.6";
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (text_begins(name, own[i]))
            *module = shown->frame->module;
    for (size_t i = 0; file && i < sizeof files / sizeof files[0]; i++)
        stands |= strcmp(file, files[i]) == 0;
    return stands ? name : NULL;
}

/* A return address is looked up one byte earlier, inside the call. An interrupted address is looked up as it is. */
static int spots_find(struct walk *walk, const struct sample *sample)
{
    for (unsigned i = 0; i < sample->frames; i++) {
        bool exact = i == 0 || walk->at[i - 1]->trampoline;
        walk->at[i] = spot_find(walk, sample->pcs[i] - !exact);
        if (!walk->at[i])
            return -1;
    }
    return 0;
}

/* Returns how many frames belong to the program. The outer ones are the C library's start code. */
static unsigned outermost_of(struct walk *walk, const struct sample *sample, bool *whole)
{
    unsigned end = sample->frames;
    for (unsigned i = end; i-- > 0;)
        if (walk->at[i]->main) {
            *whole = true;
            return i + 1;
        }
    for (unsigned i = end; i-- > 1;) /* in a stripped program, main and _start have no names */
        if (walk->at[i]->starter && !walk->at[i - 1]->starter) {
            *whole = true;
            return i;
        }
    /* mpit is between the C library and a thread's first function */
    while (end > 1 && (walk->at[end - 1]->c_library || walk->at[end - 1]->start || walk->at[end - 1]->recorder))
        end--;
    /* all frames are in the C library: a waiting thread, which may interest the user */
    return end > 1 || (end && !walk->at[0]->c_library) ? end : sample->frames;
}

/* Returns the number of frames inside MPI, from the innermost on. MPI ends at mpit's outermost frame, or at the Fortran
 * binding around it. */
static unsigned boundary_of(const struct walk *walk, unsigned end)
{
    unsigned boundary = 0;
    for (unsigned i = 0; i < end; i++)
        if (walk->at[i]->recorder)
            boundary = i + 1;
    for (unsigned i = 0; !boundary && i < end; i++)
        if (walk->at[i]->mpi)
            boundary = i + 1;
    while (boundary && boundary < end && walk->at[boundary]->mpi)
        boundary++;
    return boundary;
}

/* Finds mpit's own work outside of MPI, which has several frames of mpit, and includes its callees. A function that
 * mpit only wraps has one frame of mpit. Returns 0 if there is no such work. */
static unsigned errand_of(const struct walk *walk, unsigned end)
{
    unsigned own = 0;
    for (unsigned i = 0; i < end; i++)
        own += walk->at[i]->recorder;
    return own > 1 ? boundary_of(walk, end) : 0;
}

static int inside_push(struct walk *walk, const struct sample *sample, unsigned boundary)
{
    int result = special_push(walk, FRAME_MPI, run_reader_call_name(walk->cursor.reader, sample->call));
    for (unsigned i = boundary; walk->stacks->internal && result == 0 && i-- > 0;)
        if (!walk->at[i]->recorder && !walk->at[i]->trampoline)
            result = spot_push(walk, walk->at[i], true);
    return result;
}

static int stack_make(struct walk *walk, const struct sample *sample)
{
    bool whole = false;
    walk->count = 0;
    if (spots_find(walk, sample) != 0)
        return -1;
    unsigned end = outermost_of(walk, sample, &whole);
    unsigned boundary = sample->call ? boundary_of(walk, end) : errand_of(walk, end);
    int result = 0;
    if (sample->flags & SAMPLE_CUT)
        result = special_push(walk, FRAME_UNKNOWN, "[cut]");
    else if (!whole && (!end || sample->flags & (SAMPLE_ELSEWHERE | SAMPLE_UNKNOWN)))
        result = special_push(walk, FRAME_UNKNOWN, "[unknown]");
    if (!boundary && sample->call && !whole && sample->flags & (SAMPLE_ELSEWHERE | SAMPLE_UNKNOWN))
        boundary = end; /* only the innermost frames are known, and they are in MPI */
    for (unsigned i = end; result == 0 && i-- > boundary;)
        if (!walk->at[i]->recorder && !walk->at[i]->trampoline)
            result = spot_push(walk, walk->at[i], false);
    if (result == 0 && sample->call)
        result = inside_push(walk, sample, boundary);
    bool errand = boundary && !sample->call;
    const char *module, *stood = errand ? stand_in(walk->at[boundary - 1], &module) : NULL;
    if (result == 0 && stood)
        return frame_push(walk, stack_frame_of(walk->stacks, FRAME_PROGRAM, stood, module), NULL);
    bool own = errand || (end && (walk->at[0]->recorder || (walk->at[0]->vdso && end > 1 && walk->at[1]->recorder)));
    if (result == 0 && own && (walk->stacks->internal || !walk->count))
        result = recorder_push(walk);
    if (result == 0 && !walk->count)
        result = special_push(walk, FRAME_UNKNOWN, "[unknown]");
    return result;
}

/* ---- the walk ---------------------------------------------------------------------------------------------------- */

/* In MPI_Init and MPI_Finalize the exact timers cover another span (share/doc/profile.md). */
static bool is_inside(const struct run_reader *run, const struct sample *sample)
{
    const struct run_header *header = &run->header;
    unsigned call = sample->call;
    return header->init_ticks && header->finalize_ticks && sample->ticks >= header->init_ticks &&
           sample->ticks < header->finalize_ticks && call != CALL_MPI_Init && call != CALL_MPI_Init_thread &&
           call != CALL_MPI_Finalize;
}

static bool is_selected(const struct walk *walk, const struct sample *sample, int64_t at_ns, uint64_t weight_ns)
{
    const struct selection *selection = walk->stacks->selection;
    const struct run_reader *run = walk->cursor.reader;
    const struct comm_record *comm = sample->comm && sample->comm < run->comm_count ? run->comms[sample->comm] : NULL;
    int64_t before_ns = weight_ns < INT64_MAX ? at_ns - (int64_t)weight_ns : INT64_MIN;
    return !selection ||
           (selection_has_time(selection, before_ns + 1, at_ns) && selection_has_function(selection, sample->call) &&
            selection_has_comm(selection, comm ? comm->name : NULL, comm ? comm->label : NULL));
}

static uint64_t product(uint64_t a, uint64_t b)
{
    uint64_t result;
    return __builtin_mul_overflow(a, b, &result) ? UINT64_MAX : result;
}

/* A sample represents the time before it. Keeps the part inside the window. */
static void window_cut(const struct selection *selection, struct stack_sample *sample)
{
    if (!selection || !selection->windowed)
        return;
    int64_t from = sample->weight_ns < INT64_MAX ? sample->at_ns - (int64_t)sample->weight_ns : INT64_MIN;
    int64_t to = sample->at_ns;
    from = from > selection->from_ns ? from : selection->from_ns;
    to = to < selection->to_ns ? to : selection->to_ns;
    uint64_t ns = to > from ? (uint64_t)(to - from) : 1;
    if (ns >= sample->weight_ns)
        return;
    sample->cpu_ns = (uint64_t)((double)sample->cpu_ns * ((double)ns / (double)sample->weight_ns));
    sample->weight_ns = ns;
}

static int sample_visit(struct walk *walk, const struct sample *sample)
{
    const struct run_reader *run = walk->cursor.reader;
    struct stack_sample shown = {.sample = sample,
                                 .run = run,
                                 .stream = walk->cursor.stream,
                                 .rank = run_rank(&run->header),
                                 .at_ns = timeline_ns(&walk->stacks->line, run, sample->ticks),
                                 .weight_ns = product(sample->weight, sample->period_ns),
                                 .inside = is_inside(run, sample),
                                 .frames = walk->frames};
    shown.cpu_ns = sample->cpu_ns < shown.weight_ns && sample->cpu_ns != UINT32_MAX ? sample->cpu_ns : shown.weight_ns;
    if (!is_selected(walk, sample, shown.at_ns, shown.weight_ns))
        return 0;
    window_cut(walk->stacks->selection, &shown);
    if (stack_make(walk, sample) != 0)
        return -1;
    shown.count = walk->count;
    walk->stacks->taken++;
    return walk->visit(walk->data, &shown);
}

static int stream_walk(struct walk *walk, const struct run_reader *run, uint32_t stream, uint64_t *missing)
{
    int result = sample_cursor_open(&walk->cursor, run, stream);
    while (result == 0) {
        const struct sample *sample = sample_cursor_next(&walk->cursor);
        if (!sample)
            break;
        result = sample_visit(walk, sample);
    }
    walk->stacks->damaged += walk->cursor.damaged;
    *missing += walk->cursor.missing;
    keytable_release(&walk->spots, NULL);
    sample_cursor_close(&walk->cursor);
    return result;
}

/* True if the time of its samples was over before its end. */
static bool was_limited(const struct run_reader *run)
{
    const struct run_header *header = &run->header;
    uint64_t end = header->end_ticks > header->init_ticks ? header->end_ticks - header->init_ticks : 0;
    return header->trace_limit_ns && clock_ns(run_reader_scale(run), end) > header->trace_limit_ns;
}

int stacks_walk(struct stacks *stacks, int (*visit)(void *data, const struct stack_sample *sample), void *data)
{
    struct walk *walk = calloc(1, sizeof *walk);
    int result = walk ? 0 : -1;
    stacks->taken = stacks->lost = stacks->damaged = 0;
    for (size_t i = 0; result == 0 && i < stacks->job->file_count; i++) {
        const struct run_reader *run = run_job_file(stacks->job, i);
        if (!stacks->selection || selection_has_rank(stacks->selection, run_rank(&run->header))) {
            uint32_t streams = run_reader_sample_streams(run);
            uint64_t missing = 0; /* numbered ones among them */
            *walk = (struct walk){.stacks = stacks, .visit = visit, .data = data};
            for (uint32_t stream = 0; result == 0 && stream < streams; stream++)
                result = stream_walk(walk, run, stream, &missing);
            if (streams && was_limited(run))
                stacks->limit_ns = run->header.trace_limit_ns;
            stacks->lost += missing > run->header.samples_lost ? missing : run->header.samples_lost;
        }
        run_reader_rest(run);
    }
    free(walk);
    return result;
}

bool run_job_has_samples(const struct run_job *job)
{
    bool found = false;
    for (size_t i = 0; i < job->file_count && !found; i++) {
        const struct run_reader *run = run_job_file(job, i);
        found = run_reader_sample_streams(run) > 0;
        run_reader_rest(run);
    }
    return found;
}

int stacks_open(struct stacks *stacks, const struct run_job *job, const struct selection *selection, bool internal)
{
    *stacks = (struct stacks){.job = job, .selection = selection, .internal = internal};
    stacks->symbols = symbols_open(job->names);
    return stacks->symbols && timeline_open(&stacks->line, job->files, job->file_count, true) == 0 ? 0 : -1;
}

void stacks_release(struct stacks *stacks)
{
    tdestroy(stacks->names, frame_release);
    tdestroy(stacks->sources, free);
    symbols_close(stacks->symbols);
    timeline_release(&stacks->line);
    *stacks = (struct stacks){0};
}
