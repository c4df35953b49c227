#define _GNU_SOURCE
#include "run/programs.h"

#include "run/elfkind.h"
#include "run/launcher.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

static bool program_read(const char *word, struct elf_kind *kind, char path[PATH_MAX])
{
    return program_find(word, path) == 0 && elf_kind_read(kind, path) == 0;
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

/* Returns the first program that has MPI in it, or NULL. A launcher of MPICH may also be linked to MPI, and is not the
 * program. */
static const char *mpi_word(char *const words[])
{
    char path[PATH_MAX];
    struct elf_kind kind;
    for (; *words; words++)
        if (**words != '-' && !launcher_named(*words) && program_read(*words, &kind, path) &&
            (kind.library[0] || kind.static_mpi))
            return *words;
    return NULL;
}

/* Finds a misspelled program: the first path after the launcher that does not exist. A name without a slash may be
 * anything. */
static const char *missing_word(char *const words[])
{
    for (size_t i = 1; words[i]; i++) {
        const char *word = words[i];
        if (*word != '-' && words[i - 1][0] != '-' && strchr(word, '/') && !strpbrk(word, "=:,") &&
            access(word, F_OK) != 0)
            return word;
    }
    return NULL;
}

void programs_explain(char *const words[], int status, char reason[PROGRAM_REASON_BYTES])
{
    static const char none[] = "no process on this host called MPI_Init";
    static const char hosts[] = "run mpit-collect on the other hosts, if there are any";
    char path[PATH_MAX];
    struct elf_kind kind;
    const char *mpi = mpi_word(words), *word = mpi ? mpi : program_word(words);
    const char *missing = word || !status ? NULL : missing_word(words);
    bool read = word && (mpi || !shell_named(word)) && program_read(word, &kind, path);
    const char *hindrance = read ? hindrance_of(&kind, path) : NULL;
    if (missing)
        snprintf(reason, PROGRAM_REASON_BYTES, "%.500s does not exist on this host", missing);
    else if (hindrance)
        snprintf(reason, PROGRAM_REASON_BYTES, "%.500s %s", word, hindrance);
    else if (read && kind.library[0] && status)
        snprintf(reason, PROGRAM_REASON_BYTES, "%.500s loads %s, but %s before that; the messages above may say why",
                 word, kind.library, none);
    else if (read && kind.library[0])
        snprintf(reason, PROGRAM_REASON_BYTES, "%.500s loads %s, but %s with libmpit.so loaded; %s", word, kind.library,
                 none, hosts);
    else if (read)
        snprintf(reason, PROGRAM_REASON_BYTES, "%.500s itself is linked to no MPI library, and %s through mpit", word,
                 none);
    else
        snprintf(reason, PROGRAM_REASON_BYTES, "%s; %s", none, hosts);
}

const char *program_below(char *const words[], char library[PROGRAM_WORD_BYTES])
{
    char path[PATH_MAX];
    struct elf_kind kind;
    const char *word = program_word(words);
    if (!word || !program_read(word, &kind, path) || !kind.below[0] || mpi_word(words))
        return NULL;
    snprintf(library, PROGRAM_WORD_BYTES, "%s", kind.below);
    return word;
}
