/*
 * The tables of a database, with the words that describe them. The database has these words, too (table `described`).
 *
 * A released table or column keeps its name, unit and meaning.
 */
#ifndef MPIT_TOOLS_DATABASE_SCHEMA_H
#define MPIT_TOOLS_DATABASE_SCHEMA_H

enum { DATABASE_VERSION = 1 };

enum database_table {
    TABLE_ABOUT,
    TABLE_DESCRIBED,
    TABLE_NOTES,
    TABLE_JOBS,
    TABLE_RANKS,
    TABLE_FUNCTIONS,
    TABLE_COMMUNICATORS,
    TABLE_PATHS,
    TABLE_FRAMES,
    TABLE_COUNTERS,
    TABLE_PHASES,
    TABLE_PHASE_EFFICIENCIES,
    TABLE_NODE_TRAFFIC,
    TABLE_PARALLEL_REGIONS,
    TABLE_FINDINGS,
    TABLE_CALLS,
    TABLE_MESSAGES,
    TABLE_COLLECTIVES,
    TABLE_WAITS,
    TABLE_SEGMENTS,
    TABLE_COUNTED,
    TABLE_SAMPLES,
    DATABASE_TABLES
};

struct database_column {
    const char *name, *type; /* of SQL. A NULL name ends the list */
    const char *unit, *text; /* unit: "" = none */
};

struct database_table_text {
    const char *name, *text, *key; /* key: the columns of the primary key, or NULL */
    const struct database_column *columns;
};

extern const struct database_table_text database_tables[DATABASE_TABLES];

#endif
