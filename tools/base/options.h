/*
 * The parts of command lines that all tools have in common.
 */
#ifndef MPIT_TOOLS_OPTIONS_H
#define MPIT_TOOLS_OPTIONS_H

/* For a wrong command line: prints the message and where to find help. Exit status 2. */
enum { EXIT_USAGE = 2 };

/* An option of a tool. --help shows options without a help in the line of the next one. An option with the help ""
 * stands in the help of another. */
struct tool_option {
    const char *name;
    const char *argument; /* NULL: it takes none */
    int value;            /* for command_line_next. Not 'h', 'v', ':' or '?' */
    const char *help;
    void *
        into; /* a bool that becomes true, or a const char * that gets the argument. NULL: the tool handles the option */
};

/* The command line of a tool. --help, -h and --version are added. */
struct command_line {
    const char *version;
    const char *shorts;                /* the short options, for getopt. +: options end at the first other word */
    const char *head, *tail;           /* the help before and after the options */
    const struct tool_option *options; /* the last one has no name */
    int column;                        /* where the help of an option begins */
    const char *launcher;              /* a command whose options users may give to the tool. NULL: none */
};

/* Returns the value of the next option that the tool handles, with its argument in optarg. Returns -1 after the last
 * option. --help, --version and wrong options end the tool. */
int command_line_next(const struct command_line *line, int argc, char *argv[]);

/* For any other error in the command line. */
__attribute__((noreturn, format(printf, 1, 2))) void usage_reject(const char *format, ...);

/* Closes standard output. If a write has failed, ends the tool with a message and status 1. */
void output_close(void);

#endif
