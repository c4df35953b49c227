/*
 * How often a test does what it does: under Valgrind everything takes a hundred times as long, and one thread runs at a
 * time.
 */
#ifndef MPIT_UNIT_EFFORT_H
#define MPIT_UNIT_EFFORT_H

#ifdef MPIT_SANITIZE_ANNOUNCED_H /* the build is for it: announced.h stands in front of every file */
#define EFFORT(usual, valgrind) (valgrind)
#else
#define EFFORT(usual, valgrind) (usual)
#endif

#endif
