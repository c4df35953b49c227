/* The page with the history of programs: mpit-jobs --html, and mpit-dump --html with several runs. */
#ifndef MPIT_TOOLS_HISTORYPAGE_H
#define MPIT_TOOLS_HISTORYPAGE_H

#include <stddef.h>

struct sqlite3_stmt;

/* `ask` is of job_rows_ask: at most `most` of its rows (0: all). The page says that it is of `names`, up to NULL. Returns
 * the exit status. Prints errors itself. */
int history_page_write(struct sqlite3_stmt *ask, size_t most, char *const *names, const char *target);
/* The same for the jobs of these run directories and files, up to NULL. */
int history_page_of_runs(char *const *runs, const char *target);

#endif
