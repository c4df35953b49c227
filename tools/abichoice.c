#define _GNU_SOURCE
#include "abichoice.h"

#include "launcher.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SCRIPT_BYTES_MAX = 1 << 20, SCRIPT_DEPTH_MAX = 3, WORDS_MAX = 4096 };

/* Where something was found, the most telling first. */
enum source { FROM_PROGRAM, FROM_LAUNCHER, FROM_SCRIPT_PROGRAM, FROM_SCRIPT_LAUNCHER, SOURCE_COUNT };

struct search {
    char found[SOURCE_COUNT][ABI_COUNT][256]; /* the first of each, as a clause */
    enum mpi_abi first[SOURCE_COUNT];
    char static_program[512];
    char *words[WORDS_MAX]; /* seen already */
    size_t word_count;
};

static bool word_is_new(struct search *search, const char *word)
{
    for (size_t i = 0; i < search->word_count; i++)
        if (strcmp(search->words[i], word) == 0)
            return false;
    if (search->word_count == WORDS_MAX || !(search->words[search->word_count] = strdup(word)))
        return false;
    search->word_count++;
    return true;
}

static void found(struct search *search, enum source source, enum mpi_abi abi, const char *what, const char *verb,
                  const char *object)
{
    if (abi == ABI_NONE || search->found[source][abi][0])
        return;
    snprintf(search->found[source][abi], sizeof search->found[source][abi], "%.120s %s %.100s", what, verb, object);
    if (search->first[source] == ABI_NONE)
        search->first[source] = abi;
}

static bool is_shell(const char *word)
{
    static const char *const shells[] = {"sh", "bash", "dash", "ksh", "zsh", "ash"};
    const char *name = path_name(word);
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
        if (strcmp(name, shells[i]) == 0)
            return true;
    return false;
}

static void word_examine(struct search *search, const char *word, int depth, bool may_be_plain);

/* Looks at each word of a script that a shell could take for a command. Comments are passed over. */
static void text_examine(struct search *search, char *text, int depth)
{
    char *line_end;
    for (char *line = strtok_r(text, "\n", &line_end); line; line = strtok_r(NULL, "\n", &line_end)) {
        char *word_end;
        for (char *word = strtok_r(line, " \t\r'\"`;&|(){}<>", &word_end); word;
             word = strtok_r(NULL, " \t\r'\"`;&|(){}<>", &word_end)) {
            if (*word == '#')
                break;
            char *value = strchr(word, '='); /* MPIRUN=/usr/bin/mpirun */
            word_examine(search, value && !strchr(word, '$') ? value + 1 : word, depth, false);
        }
    }
}

static void script_examine(struct search *search, const char *path, int depth, bool may_be_plain)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char *text = fd < 0 ? NULL : malloc(SCRIPT_BYTES_MAX + 1);
    ssize_t bytes = text ? read(fd, text, SCRIPT_BYTES_MAX) : 0;
    bool script = bytes > 2 && (may_be_plain || memcmp(text, "#!", 2) == 0) && !memchr(text, '\0', (size_t)bytes);
    if (script) {
        text[bytes] = '\0';
        if (memcmp(text, "#!", 2) == 0)
            memset(text, ' ', 2); /* the interpreter is a word like others */
        text_examine(search, text, depth + 1);
    }
    free(text);
    if (fd >= 0)
        close(fd);
}

static void word_examine(struct search *search, const char *word, int depth, bool may_be_plain)
{
    char path[PATH_MAX];
    struct elf_kind kind;
    if (depth > SCRIPT_DEPTH_MAX || !*word || *word == '-' || strchr(word, '$') || !word_is_new(search, word))
        return;
    bool executable = program_find(word, path) == 0;
    if (!executable && (snprintf(path, sizeof path, "%s", word) >= (int)sizeof path || access(path, R_OK) != 0))
        return;
    struct stat st; /* to open a pipe would be noticed by its other end */
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return;
    enum launcher_kind launcher = executable && launcher_named(word) ? launcher_identify(path) : LAUNCHER_NONE;
    if (launcher != LAUNCHER_NONE) {
        enum mpi_abi abi = launcher_abi(launcher);
        found(search, depth ? FROM_SCRIPT_LAUNCHER : FROM_LAUNCHER, abi, word, "is a launcher of", mpi_abi_title(abi));
        return;
    }
    if (elf_kind_read(&kind, path) != 0) {
        script_examine(search, path, depth, may_be_plain);
        return;
    }
    found(search, depth ? FROM_SCRIPT_PROGRAM : FROM_PROGRAM, kind.abi, word, "loads", kind.library);
    if (kind.openmpi_launcher) /* under an unusual name */
        found(search, depth ? FROM_SCRIPT_LAUNCHER : FROM_LAUNCHER, ABI_OPENMPI, word, "is a launcher of", "Open MPI");
    if (kind.static_mpi && !search->static_program[0])
        snprintf(search->static_program, sizeof search->static_program, "%.500s", word);
}

static void words_examine(struct search *search, char *const words[])
{
    bool shell = is_shell(words[0]);
    for (size_t i = 0; words[i]; i++) {
        if (shell && i > 0 && words[i - 1][0] == '-' && words[i - 1][1] != '-' && strchr(words[i - 1], 'c')) {
            char *text = strdup(words[i]);
            if (text)
                text_examine(search, text, 1);
            free(text);
        } else {
            word_examine(search, words[i], 0, shell);
        }
    }
}

/*
 * The word that most likely is the program: the first executable one behind the launcher that does not stand behind an
 * option, whose value it may be; else the first that does. NULL: none.
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

/* A misspelt program: the first path behind the launcher where nothing is. A name without a slash may be anything. */
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

/* Whether one source speaks of two MPIs; then says which. */
static bool contradiction_tell(struct abi_choice *choice, const char found[ABI_COUNT][256])
{
    const char *first = NULL;
    for (int abi = ABI_FIRST; abi <= ABI_LAST; abi++) {
        if (!*found[abi])
            continue;
        if (first) {
            choice->contradictory = true;
            snprintf(choice->because, sizeof choice->because, "%s, and %s", first, found[abi]);
            return true;
        }
        first = found[abi];
    }
    return false;
}

static void decide(struct abi_choice *choice, const struct search *search)
{
    for (int source = 0; source < SOURCE_COUNT; source++) {
        enum mpi_abi abi = search->first[source];
        if (abi == ABI_NONE)
            continue;
        if (source >= FROM_SCRIPT_PROGRAM && contradiction_tell(choice, search->found[source]))
            return;
        choice->abi = abi;
        snprintf(choice->because, sizeof choice->because, "%s", search->found[source][abi]);
        return;
    }
}

void abi_choose(struct abi_choice *choice, char *const words[])
{
    *choice = (struct abi_choice){0};
    struct search *search = calloc(1, sizeof *search);
    if (!search)
        return;
    words_examine(search, words);
    snprintf(choice->static_program, sizeof choice->static_program, "%s", search->static_program);
    if (search->first[FROM_PROGRAM] == ABI_NONE)
        plain_find(choice, words);
    snprintf(choice->because, sizeof choice->because, "nothing of MPI is among the words of the command");
    decide(choice, search);
    choice->found = choice->abi;
    for (size_t i = 0; i < search->word_count; i++)
        free(search->words[i]);
    free(search);
}

enum mpi_abi abi_default(void)
{
    char path[PATH_MAX];
    if (program_find("mpirun", path) != 0 && program_find("mpiexec", path) != 0)
        return ABI_NONE;
    return launcher_abi(launcher_identify(path));
}
