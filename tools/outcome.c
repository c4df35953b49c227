#define _GNU_SOURCE
#include "outcome.h"

#include "archive.h"
#include "rundir.h"
#include "summary_json.h"
#include "summary_text.h"

#include <err.h>
#include <stdio.h>
#include <string.h>

static bool is_json(const char *path)
{
    size_t bytes = strlen(path);
    return bytes > 5 && strcmp(path + bytes - 5, ".json") == 0;
}

/* The Fortran programs whose MPI calls do not go through the C functions, which are what is recorded. */
static const char *fortran_limit(enum mpi_abi abi)
{
    return abi == ABI_MPICH ? "with \"use mpi_f08\" are not recorded yet" : "are not recorded on Open MPI yet";
}

static void nothing_say(const struct outcome *outcome)
{
    const struct abi_choice *choice = outcome->choice;
    if (choice->static_program[0])
        warnx("no MPI process recorded: %s has MPI linked in statically, where its calls cannot be seen; link it with "
              "the shared MPI library",
              choice->static_program);
    else
        warnx("no MPI process recorded: none called MPI_Init with %s loaded (%s); Fortran programs %s",
              outcome->library, choice->because, fortran_limit(choice->abi));
    output_dir_drop(outcome->output);
}

static int summaries_write(const struct outcome *outcome, const struct run_dir *dir, FILE *out)
{
    if (outcome->summary && is_json(outcome->summary))
        return summary_write_json(dir, out);
    for (size_t i = 0; i < dir->job_count; i++) {
        if (i > 0)
            fputc('\n', out);
        if (dir->job_count > 1)
            fprintf(out, "job %zu of %zu\n", i + 1, dir->job_count);
        summary_print(dir->jobs[i].summary, out);
    }
    return ferror(out) ? -1 : 0;
}

static void summary_show(const struct outcome *outcome, const struct run_dir *dir)
{
    bool to_file = outcome->summary && strcmp(outcome->summary, "-") != 0;
    if (!outcome->summary && outcome->quiet)
        return;
    FILE *out = to_file ? fopen(outcome->summary, "w") : outcome->summary ? stdout : stderr;
    if (!out) {
        warn("the summary cannot be written to %s", outcome->summary);
        return;
    }
    if (!to_file)
        fprintf(out, "\n"); /* apart from what the program printed */
    int result = summaries_write(outcome, dir, out);
    if ((to_file ? fclose(out) : fflush(out)) != 0 || result != 0)
        warn("the summary cannot be written to %s", to_file ? outcome->summary : "the terminal");
}

void outcome_show(const struct outcome *outcome)
{
    struct run_dir dir;
    char error[512], archive[PATH_MAX + 8];
    const char *given = outcome->output->given;
    if (run_dir_count(outcome->output->path) == 0) {
        nothing_say(outcome);
        return;
    }
    int opened = run_dir_open(&dir, given, error);
    for (size_t i = 0; i < dir.problem_count; i++)
        warnx("%s", dir.problems[i]);
    if (opened != 0) {
        warnx("%s", error);
        run_dir_close(&dir);
        return;
    }
    summary_show(outcome, &dir);
    snprintf(archive, sizeof archive, "%s/otf2", given);
    bool converted = outcome->otf2 && archive_write(&dir, archive, error) == 0;
    if (outcome->otf2 && !converted)
        warnx("no OTF2 archive: %s", error);
    if (!outcome->quiet)
        fprintf(stderr, "\nmpit-run: recorded in %s%s; mpit-dump %s shows it\n", given,
                converted ? " (OTF2 archive: otf2/traces.otf2)" : "", given);
    run_dir_close(&dir);
}
