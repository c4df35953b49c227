/*
 * What the compiler is told about functions and data.
 *
 * LIBRARY_LOCAL marks our data that other files of the same library use. Without it the compiler must assume that
 * another library may replace the data, and uses a table for each access.
 *
 * MUST_CHECK marks functions whose failure may lose a result. The compiler warns where a caller does not look.
 */
#ifndef MPIT_BASE_LINKAGE_H
#define MPIT_BASE_LINKAGE_H

#define LIBRARY_LOCAL __attribute__((visibility("hidden")))
#define MUST_CHECK __attribute__((warn_unused_result))

#endif
