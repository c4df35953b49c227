/*
 * The frame that a user takes for the place of a call site. Real programs call MPI through functions of their own, of which
 * all call sites would have the same name.
 *
 *   my_MPI_Allreduce  <  pressure_solve  <  main          innermost first
 *         wrapper            the place
 *
 * These are not the place:
 *   - a binding of MPI
 *   - a function of another library, if the program has a function on the path besides main. Of a program in Python:
 *     a function of a package, and a function of C unless it has a name and Python calls it
 *   - a function with the name of the MPI function in its own
 *   - a function below which one function of MPI is called, and that several functions call
 */
#ifndef MPIT_TOOLS_SITEPLACES_H
#define MPIT_TOOLS_SITEPLACES_H

#include "summary/summarysites.h"

/* Marks the place of each site. The frames have their names. Returns 0, or -1 without memory; then no place is marked. */
int site_places_mark(struct summary_sites *sites);

/* The place of a site, or its innermost frame if none is marked. NULL: the path has no frame. */
const struct summary_frame *site_place_frame(const struct summary_sites *sites, const struct summary_site *site);
/* The innermost frame that is no binding of MPI: the function that calls MPI. Likewise. */
const struct summary_frame *site_call_frame(const struct summary_sites *sites, const struct summary_site *site);
/* An interpreter of Python or another language has called functions there. */
bool frame_is_of_interpreter(const struct summary_sites *sites, const struct summary_frame *frame);

#endif
