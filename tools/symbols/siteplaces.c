#define _GNU_SOURCE
#include "symbols/siteplaces.h"

#include "base/keytable.h"
#include "base/text.h"
#include "calls.h"

#include <ctype.h>
#include <string.h>

/* What is known of a function. */
struct function_use {
    struct keyed keyed;             /* module, name */
    const struct summary_frame *by; /* the first function that calls it, */
    uint32_t kind;                  /* and the first function of MPI that is called in it, or below */
    bool callers, kinds;            /* there are several */
};

static const char *module_of(const struct summary_sites *sites, const struct summary_frame *frame)
{
    const char *path = summary_frame_module(sites, frame);
    return path ? path_base(path) : "";
}

/* The bindings of MPI for other languages stand between the program and MPI. */
static bool is_binding(const struct summary_sites *sites, const struct summary_frame *frame)
{
    static const char *const names[] = {"libmpi", "_ctypes.", "libffi."};
    const char *module = module_of(sites, frame);
    if (summary_frame_is_python(sites, frame))
        return strncmp(module, "<frozen ", 8) == 0; /* the import of mpi4py calls MPI_Init */
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(module, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* Its own functions are the interpreter, and libraries are the program. */
static bool is_interpreter(const char *module)
{
    static const char *const names[] = {"python", "libpython", "perl", "libperl", "ruby", "libruby",
                                        "julia",  "libjulia",  "R",    "libR",    "java", "libjvm"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t length = strlen(names[i]);
        if (strncmp(module, names[i], length) != 0)
            continue;
        char next = module[length];
        if (!next || next == '.' || next == '-' || (length > 1 && isdigit((unsigned char)next)))
            return true;
    }
    return false;
}

static bool is_shared_object(const char *module)
{
    const char *end = strstr(module, ".so");
    return end && (!end[3] || end[3] == '.');
}

/* Some programs are a main function, and all else is in a library of theirs. */
static bool is_main(const char *function)
{
    return strcmp(function, "main") == 0 || strcmp(function, "MAIN__") == 0 || strcmp(function, "_start") == 0;
}

/* A function of Python that came with Python or a package. */
static bool is_of_package(const struct summary_sites *sites, const struct summary_frame *frame)
{
    static const char *const folders[] = {"<frozen ", "/lib/python3.", "/lib64/python3.", "/site-packages/",
                                          "/dist-packages/"};
    const char *file = summary_frame_module(sites, frame);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (file && strstr(file, folders[i]))
            return true;
    return false;
}

enum { PROGRAM_PYTHON = UINT32_MAX };

/* The program's module. 0: the path has no function of it but main, or an interpreter is the program. */
static uint32_t program_of(const struct summary_sites *sites, const struct summary_site *site)
{
    for (uint32_t i = site->frame_count; i-- > 0;) {
        const struct summary_frame *frame = &sites->frames[site->first_frame + i];
        const char *module = module_of(sites, frame), *function = summary_text(sites, frame->function);
        bool python = summary_frame_is_python(sites, frame);
        if (python && !is_of_package(sites, frame))
            return PROGRAM_PYTHON;
        if (!python && module[0] && !is_shared_object(module) && function && !is_main(function))
            return is_interpreter(module) ? 0 : frame->module;
    }
    return 0;
}

static bool is_of_program(const struct summary_sites *sites, const struct summary_frame *frame, uint32_t program)
{
    return program == PROGRAM_PYTHON ? summary_frame_is_python(sites, frame) && !is_of_package(sites, frame)
                                     : frame->module == program;
}

bool frame_is_of_interpreter(const struct summary_sites *sites, const struct summary_frame *frame)
{
    return !summary_frame_is_python(sites, frame) && is_interpreter(module_of(sites, frame));
}

static bool same_function(const struct summary_frame *a, const struct summary_frame *b)
{
    return a->function == b->function && a->module == b->module;
}

static int use_add(const struct summary_sites *sites, const struct summary_site *site, uint32_t depth,
                   struct keytable *uses)
{
    const struct summary_frame *frame = &sites->frames[site->first_frame + depth], *by = NULL;
    if (!frame->function)
        return 0;
    for (uint32_t i = depth + 1; i < site->frame_count && !by; i++)
        if (!same_function(frame, &sites->frames[site->first_frame + i])) /* else it calls itself */
            by = &sites->frames[site->first_frame + i];
    struct function_use *use = keytable_make(uses, frame->module, frame->function, sizeof *use);
    if (!use)
        return -1;
    use->kinds |= use->kind && use->kind != site->kind;
    use->kind = site->kind;
    use->callers |= use->by && by && !same_function(use->by, by);
    use->by = by ? by : use->by;
    return 0;
}

static bool is_wrapper(const struct summary_sites *sites, const struct summary_site *site,
                       const struct summary_frame *frame, uint32_t program, const struct keytable *uses)
{
    const char *name = summary_text(sites, frame->function);
    const struct function_use *use = keytable_find(uses, frame->module, frame->function);
    return is_binding(sites, frame) || (program && !is_of_program(sites, frame, program)) ||
           (name && site->kind && strcasestr(name, call_table[site->kind].name)) ||
           (use && use->callers && !use->kinds);
}

/* A function of a library that Python calls. */
static bool is_called_by_interpreter(const struct summary_sites *sites, const struct summary_site *site, uint32_t depth)
{
    const struct summary_frame *frame = &sites->frames[site->first_frame + depth];
    if (depth + 1 == site->frame_count)
        return false;
    if (summary_frame_is_python(sites, frame + 1))
        return frame->function && !summary_frame_is_python(sites, frame) && !is_binding(sites, frame);
    return frame_is_of_interpreter(sites, frame + 1);
}

static void site_mark(struct summary_sites *sites, const struct summary_site *site, const struct keytable *uses)
{
    uint32_t program = program_of(sites, site), place = 0;
    while (place < site->frame_count && !is_called_by_interpreter(sites, site, place) &&
           is_wrapper(sites, site, &sites->frames[site->first_frame + place], program, uses))
        place++;
    for (uint32_t i = 0; i < site->frame_count; i++)
        sites->frames[site->first_frame + i].mark = i == place;
}

int site_places_mark(struct summary_sites *sites)
{
    struct keytable uses = {0};
    int result = 0;
    for (uint64_t i = 0; i < sites->count && result == 0; i++)
        for (uint32_t depth = 0; depth < sites->list[i].frame_count && result == 0; depth++)
            result = use_add(sites, &sites->list[i], depth, &uses);
    for (uint64_t i = 0; i < sites->count && result == 0; i++)
        site_mark(sites, &sites->list[i], &uses);
    keytable_release(&uses, NULL);
    return result;
}

const struct summary_frame *site_call_frame(const struct summary_sites *sites, const struct summary_site *site)
{
    for (uint32_t i = 0; i < site->frame_count; i++)
        if (!is_binding(sites, &sites->frames[site->first_frame + i]))
            return &sites->frames[site->first_frame + i];
    return site->frame_count ? &sites->frames[site->first_frame] : NULL;
}

const struct summary_frame *site_place_frame(const struct summary_sites *sites, const struct summary_site *site)
{
    for (uint32_t i = 0; i < site->frame_count; i++)
        if (sites->frames[site->first_frame + i].mark)
            return &sites->frames[site->first_frame + i];
    return site_call_frame(sites, site);
}
