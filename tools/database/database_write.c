#include "database/database_write.h"

#include "database/database_job.h"

#include <stdio.h>

static void about_put(struct database *to, const char *name, const char *value)
{
    row_begin(to, TABLE_ABOUT);
    row_word(to, name);
    row_text(to, value);
    row_end(to);
}

static int job_write(struct database_job *job, char error[OUTPUT_ERROR_BYTES])
{
    error[0] = '\0';
    database_summary_fill(job);
    int result = database_trace_fill(job, error) ?: database_samples_fill(job);
    if (result == 0 && job->paths.no_memory)
        result = -1;
    if (result != 0 && !error[0])
        snprintf(error, OUTPUT_ERROR_BYTES, "out of memory for the database");
    database_paths_release(&job->paths);
    return result;
}

int database_write(const struct run_dir *dir, const char *path, char error[OUTPUT_ERROR_BYTES])
{
    struct database *database = database_open(path, error);
    struct database_job job = {.database = database, .paths.database = database};
    char version[16];
    int result = 0;
    if (!database)
        return -1;
    snprintf(version, sizeof version, "%d", DATABASE_VERSION);
    about_put(database, "mpit", MPIT_VERSION);
    about_put(database, "version", version);
    about_put(database, "run", dir->path);
    for (size_t i = 0; i < dir->job_count && result == 0 && !database_is_broken(database); i++) {
        job.job = &dir->jobs[i];
        job.number = job.paths.job = (int64_t)i + 1;
        result = job_write(&job, error);
    }
    return database_close(database, result != 0, error);
}
