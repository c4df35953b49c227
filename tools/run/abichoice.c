#define _GNU_SOURCE
#include "run/abichoice.h"

#include "run/launcher.h"

#include <stdio.h>
#include <string.h>
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

/* A launcher of MPICH may also be linked to MPI, and is not the program. */
static void word_examine(struct abi_choice *choice, const char *word)
{
    char path[PATH_MAX];
    struct elf_kind kind;
    if (*word == '-' || launcher_named(word) || program_find(word, path) != 0 || elf_kind_read(&kind, path) != 0)
        return;
    if (kind.abi != ABI_NONE && choice->found == ABI_NONE) {
        choice->found = kind.abi;
        snprintf(choice->because, sizeof choice->because, "%.120s loads %.100s", word, kind.library);
    }
    if (kind.static_mpi && !choice->static_program[0])
        snprintf(choice->static_program, sizeof choice->static_program, "%.500s", word);
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
static void missing_find(struct abi_choice *choice, char *const words[])
{
    for (size_t i = 1; words[i]; i++) {
        const char *word = words[i];
        if (*word == '-' || words[i - 1][0] == '-' || !strchr(word, '/') || strpbrk(word, "=:,") ||
            access(word, F_OK) == 0)
            continue;
        snprintf(choice->missing_program, sizeof choice->missing_program, "%.500s", word);
        return;
    }
}

static void plain_find(struct abi_choice *choice, char *const words[])
{
    char path[PATH_MAX];
    struct elf_kind kind;
    const char *word = program_word(words);
    if (!word)
        missing_find(choice, words);
    if (!word || is_shell(word) || program_find(word, path) != 0 || elf_kind_read(&kind, path) != 0)
        return;
    if (kind.abi != ABI_NONE || kind.openmpi_launcher || kind.static_mpi)
        return;
    snprintf(choice->plain_program, sizeof choice->plain_program, "%.500s", word);
    choice->plain_is_static = kind.linked_statically;
    snprintf(choice->plain_below, sizeof choice->plain_below, "%s", kind.below);
}

void abi_choose(struct abi_choice *choice, char *const words[])
{
    *choice = (struct abi_choice){.because = "no word of the command names an MPI program"};
    for (size_t i = 0; words[i]; i++)
        word_examine(choice, words[i]);
    if (choice->found == ABI_NONE)
        plain_find(choice, words);
}
