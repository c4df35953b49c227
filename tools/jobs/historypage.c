#include "jobs/historypage.h"

#include "base/outputfile.h"
#include "job/jsonvalue.h"
#include "jobs/joblist.h"
#include "jobs/jobtree.h"
#include "page/page.h"

#include <err.h>

int history_page_write(sqlite3_stmt *ask, size_t most, char *const *names, const char *target)
{
    json_t *runs = json_array();
    for (; *names; names++)
        json_array_append_new(runs, text_json(*names));
    int status = page_write_document(
        json_pack("{s:s, s:o, s:o}", "mpit", MPIT_VERSION, "runs", runs, "history", job_list_json(ask, most)), target);
    if (status == 0)
        output_say(target);
    return status;
}

/* Returns whether a file of the run was read. */
static bool named_run_read(struct job_tree *tree, struct job_table *table, const char *run)
{
    size_t files = tree->files, problems = tree->problems;
    if (job_tree_read(tree, table, run) != 0)
        warn("%s cannot be read", run);
    else if (tree->files == files)
        warnx("%s has no results of mpit", run);
    else
        return tree->problems == problems;
    return false;
}

int history_page_of_runs(char *const *runs, const char *target)
{
    struct job_tree tree = {.files = 0};
    struct job_table *table = job_table_open(NULL);
    int status = 0;
    for (char *const *run = runs; *run; run++)
        status |= !named_run_read(&tree, table, *run);
    job_tree_join(&tree, table);
    if (tree.files == tree.problems)
        errx(1, "no run can be read");
    sqlite3_stmt *ask = job_rows_ask(table, "ORDER BY begin DESC, source", NULL);
    status |= history_page_write(ask, 0, runs, target);
    sqlite3_finalize(ask);
    job_table_close(table);
    return status;
}
