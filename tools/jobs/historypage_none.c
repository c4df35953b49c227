/* mpit-dump without SQLite. Its command line refuses several runs with --html. */
#include "jobs/historypage.h"

int history_page_of_runs(char *const *runs, const char *target)
{
    (void)runs;
    (void)target;
    return 1;
}
