/*
 * Finds the functions at an address, from the debug information of a unit of compilation (libdw of elfutils).
 *
 *   unit_functions ── by unit ──> functions[]    all functions with their own code, by address
 *                                     │ the one that has the address
 *                                     v
 *                                 its entry, and below it the functions that were inlined there
 *
 * A unit is walked once, at the first lookup of its addresses. A later lookup takes a binary search, and a walk below
 * one function. Units have tens of thousands of entries, mostly types.
 */
#ifndef MPIT_TOOLS_UNITFUNCTIONS_H
#define MPIT_TOOLS_UNITFUNCTIONS_H

#include "base/keytable.h"

#include <elfutils/libdw.h>

/* Fills `list` with the function at the address and the functions that are inlined there, the outermost first. Returns
 * their number. `address` is as in the debug information. */
int unit_functions_find(struct keytable *units, Dwarf_Die *unit, Dwarf_Addr address, Dwarf_Die *list, int room);
void unit_functions_release(struct keytable *units);

#endif
