/*
 * Short names of C++ functions: without return type, arguments and template arguments, and with the last namespace or class
 * only.
 *
 *   double LAMMPS_NS::ComputeTemp::compute_scalar<2>(int) const   ──>   ComputeTemp::compute_scalar
 */
#ifndef MPIT_TOOLS_CXXNAME_H
#define MPIT_TOOLS_CXXNAME_H

enum { CXX_NAME_BYTES = 200 };

/* Writes the short form of a name that c++filt would write. Other names stay, but for what has no room. Returns text. */
const char *cxx_name_short(const char *name, char text[CXX_NAME_BYTES]);

/* Returns where the name begins, after the type that it returns: "std::vector<int> f(int)" begins at "f". */
const char *cxx_name_begin(const char *name);

#endif
