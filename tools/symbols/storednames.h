/*
 * Names of addresses that are stored with a run. So they read the same after the program was rebuilt or moved away, and
 * on another machine.
 *
 *   a section of the job file (SECTION_NAMES): a summary without processes (summary.h). Its call sites have no list, only
 *      modules      each file once: path and build id
 *      frames       by module and address. The functions of one address follow each other, the innermost first
 *      texts        names of functions and files
 *
 * mpit-run appends the section when the job has ended (jobnames.h). A joined file may have several. A name counts only for
 * the path and the build id that it was stored with. Addresses without a stored name are looked up in the files of this machine (symbols.h).
 */
#ifndef MPIT_TOOLS_STOREDNAMES_H
#define MPIT_TOOLS_STOREDNAMES_H

#include "base/keytable.h"
#include "summary/summary.h"
#include "symbols/symbols.h"

/* ---- writing ----------------------------------------------------------------------------------------------------- */

struct names_list {
    struct summary summary;
    struct keytable texts; /* by hash */
    bool full;             /* some names did not fit into the list, or into memory */
};

/* Starts the list of a job. */
void names_list_begin(struct names_list *list, uint64_t job);
/* Adds a file. Its places follow, by address. Returns false without room. */
bool names_list_module(struct names_list *list, const char *path, const uint8_t *build_id, uint32_t build_id_bytes);
bool names_list_place(struct names_list *list, const struct symbol_place *place);
void names_list_release(struct names_list *list);

/* ---- reading ----------------------------------------------------------------------------------------------------- */

struct stored_names;

/* Makes the names of a summary, which then belongs to them, also after an error. Returns NULL with a reason. */
struct stored_names *stored_names_open(struct summary *summary, char error[128]);
/* Appends names to others, which may be NULL. They are closed together. */
void stored_names_add(struct stored_names **list, struct stored_names *names);
void stored_names_close(struct stored_names *names);
/* Returns the place of an address in a file, or NULL if no name is stored. `names` may be NULL. */
const struct symbol_place *stored_names_find(const struct stored_names *names, const char *path,
                                             const struct module *module, uint64_t address);

#endif
