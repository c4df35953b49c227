#define _GNU_SOURCE
#include "run/programs.h"

#include "run/elfkind.h"
#include "run/launcher.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_shell(const char *word)
{
    static const char *const shells[] = {"sh", "bash", "dash", "ksh", "zsh", "ash"};
    const char *name = path_name(word);
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
        if (strcmp(name, shells[i]) == 0)
            return true;
    return false;
}

/* The loader then preloads only libraries of the system. */
static bool has_rights_of_another(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 &&
           ((st.st_mode & S_ISUID && st.st_uid != geteuid()) || (st.st_mode & S_ISGID && st.st_gid != getegid()));
}

/* Returns the reason why nothing can be recorded of an executable, or NULL. */
static const char *hindrance_of(const struct elf_kind *kind, const char *path)
{
    if (kind->other_machine)
        return "is not a 64-bit program of this kind of machine, so mpit cannot be preloaded";
    if (kind->static_mpi)
        return "is linked to a static MPI library, and mpit cannot intercept its calls; link it to the shared MPI "
               "library";
    if (kind->linked_statically)
        return "is linked statically, so mpit cannot be preloaded";
    return has_rights_of_another(path) ? "runs with the rights of another user, so mpit cannot be preloaded" : NULL;
}

static void hindrance_note(struct programs *programs, const char *word, const char *reason)
{
    if (!programs->hindrance[0])
        snprintf(programs->hindrance, sizeof programs->hindrance, "%.500s %s", word, reason);
}

/* A launcher of MPICH may also be linked to MPI, and is not the program. */
static void word_examine(struct programs *programs, const char *word)
{
    char path[PATH_MAX];
    struct elf_kind kind;
    if (*word == '-' || launcher_named(word) || program_find(word, path) != 0 || elf_kind_read(&kind, path) != 0)
        return;
    const char *hindrance = kind.library[0] || kind.static_mpi ? hindrance_of(&kind, path) : NULL;
    if (hindrance)
        hindrance_note(programs, word, hindrance);
    if (!kind.library[0] || programs->mpi_program[0])
        return;
    snprintf(programs->mpi_program, sizeof programs->mpi_program, "%.500s", word);
    memcpy(programs->mpi_library, kind.library, sizeof programs->mpi_library);
}

/*
 * Returns the word that most likely is the program. This is the first executable word after the launcher that does not
 * follow an option, because it may be the option's value. If there is none, it is the first that follows an option.
 * Returns NULL for none.
 */
static const char *program_word(char *const words[])
{
    size_t first = 0;
    const char *behind_option = NULL;
    char path[PATH_MAX];
    for (size_t i = 0; words[i] && !first; i++)
        if (launcher_named(words[i]))
            first = i + 1;
    for (size_t i = first; words[i]; i++) {
        const char *word = words[i];
        if (*word == '-' || strchr(word, '=') || prefix_named(word) || program_find(word, path) != 0)
            continue;
        if (i == first || words[i - 1][0] != '-')
            return word;
        if (!behind_option)
            behind_option = word;
    }
    return behind_option;
}

/* Finds a misspelled program: the first path after the launcher that does not exist. A name without a slash may be
 * anything. */
static void missing_find(struct programs *programs, char *const words[])
{
    for (size_t i = 1; words[i]; i++) {
        const char *word = words[i];
        if (*word == '-' || words[i - 1][0] == '-' || !strchr(word, '/') || strpbrk(word, "=:,") ||
            access(word, F_OK) == 0)
            continue;
        snprintf(programs->missing_program, sizeof programs->missing_program, "%.500s", word);
        return;
    }
}

static void plain_find(struct programs *programs, char *const words[])
{
    char path[PATH_MAX];
    struct elf_kind kind;
    const char *word = program_word(words);
    if (!word)
        missing_find(programs, words);
    if (!word || is_shell(word) || program_find(word, path) != 0 || elf_kind_read(&kind, path) != 0)
        return;
    const char *hindrance = hindrance_of(&kind, path);
    if (hindrance)
        hindrance_note(programs, word, hindrance);
    if (hindrance || kind.openmpi_launcher || kind.prrte_launcher)
        return;
    snprintf(programs->plain_program, sizeof programs->plain_program, "%.500s", word);
    snprintf(programs->plain_below, sizeof programs->plain_below, "%s", kind.below);
}

void programs_examine(struct programs *programs, char *const words[])
{
    *programs = (struct programs){.mpi_program = ""};
    for (size_t i = 0; words[i]; i++)
        word_examine(programs, words[i]);
    if (!programs->mpi_program[0])
        plain_find(programs, words);
}
