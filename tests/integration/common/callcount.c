#include "callcount.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALLS = 256 };

static struct {
    const char *name;
    unsigned long long count;
} calls[CALLS + 1];

int rank, size, failures, absent;

void counted(int code, const char *name)
{
    int i = 0;
    if (code != MPI_SUCCESS) {
        fprintf(stderr, "%d: %s returned %d\n", rank, name, code);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    while (i < CALLS && calls[i].name && strcmp(calls[i].name, name) != 0)
        i++;
    if (i == CALLS)
        MPI_Abort(MPI_COMM_WORLD, 6);
    calls[i].name = name;
    calls[i].count++;
}

void check(unsigned long long is, unsigned long long expected, const char *what)
{
    if (is == expected)
        return;
    failures++;
    printf("process %d: %s is %llu, the program counted %llu\n", rank, what, is, expected);
}

struct watch watch_open(const char *name, int class, void *object)
{
    struct watch w = {.count = 0};
    int index;
    if (MPI_T_pvar_get_index(name, class, &index) != MPI_SUCCESS) {
        absent = 1;
        return w;
    }
    MPI_T_pvar_session_create(&w.session);
    if (MPI_T_pvar_handle_alloc(w.session, index, object, &w.handle, &w.count) != MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 4);
    MPI_T_pvar_start(w.session, w.handle);
    return w;
}

void watch_read(const struct watch *w, unsigned long long *values)
{
    if (MPI_T_pvar_read(w->session, w->handle, values) != MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 5);
}

unsigned long long watch_value(const struct watch *w)
{
    unsigned long long *values = calloc((size_t)w->count + 1, sizeof *values);
    if (w->count)
        watch_read(w, values);
    unsigned long long value = values[0];
    free(values);
    return value;
}

int slot_find(const char *variable, int class, const char *name)
{
    MPI_T_enum list;
    MPI_Datatype type;
    char item[128];
    int index, verbosity, found_class, bind, readonly, continuous, atomic, items, value, length, zero = 0, none = 0;
    if (MPI_T_pvar_get_index(variable, class, &index) != MPI_SUCCESS ||
        MPI_T_pvar_get_info(index, NULL, &zero, &verbosity, &found_class, &type, &list, NULL, &none, &bind, &readonly,
                            &continuous, &atomic) != MPI_SUCCESS)
        return -1;
    zero = 0;
    MPI_T_enum_get_info(list, &items, NULL, &zero);
    for (int i = 0; i < items; i++) {
        length = sizeof item;
        MPI_T_enum_get_item(list, i, &value, item, &length);
        if (strcmp(item, name) == 0)
            return value;
    }
    return -1;
}

static void losses_check(void)
{
    unsigned long long lost[64] = {0};
    struct watch losses = watch_open("mpit_events_lost", MPI_T_PVAR_CLASS_COUNTER, NULL);
    if (losses.count <= 64)
        watch_read(&losses, lost);
    for (int i = 0; i < losses.count && i < 64; i++)
        check(lost[i], 0, "mpit_events_lost");
}

void callcount_compare(const struct watch *w)
{
    unsigned long long *seen = calloc((size_t)w->count + 1, sizeof *seen);
    watch_read(w, seen);
    for (int c = 0; calls[c].name; c++) {
        int slot = slot_find("mpit_current_call", MPI_T_PVAR_CLASS_STATE, calls[c].name);
        if (slot < 0 || slot >= w->count)
            check(0, 1, calls[c].name);
        else
            check(seen[slot], calls[c].count, calls[c].name);
    }
    free(seen);
    losses_check();
}

void callcount_begin(int *argc, char ***argv)
{
    int provided;
    MPI_Init(argc, argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
}

void callcount_print(FILE *out)
{
    for (int c = 0; calls[c].name; c++)
        fprintf(out, " %s=%llu", calls[c].name, calls[c].count);
}

int callcount_end(const char *title)
{
    int all = 0, functions = 0;
    while (calls[functions].name)
        functions++;
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d processes: %s, %d functions, %d mismatches\n", size, title, functions, all);
    fflush(stdout);
    MPI_T_finalize();
    MPI_Finalize();
    return absent ? 77 : all != 0;
}
