/*
 * otf2judge: judges an OTF2 archive. README.md describes what it finds and how.
 */
#include "check.h"
#include "check_rules.h"

#include <err.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char *argv[])
{
    bool json = argc > 1 && strcmp(argv[1], "--json") == 0;
    int status = 0;
    if (argc == 2 && strcmp(argv[1], "--rules") == 0)
        check_rules_print(stdout);
    else if (argc == 2 + json && argv[1 + json][0] != '-')
        status = check_run(argv[1 + json], json);
    else
        errx(2, "usage: otf2judge [--json] ARCHIVE, or otf2judge --rules");
    if (fflush(stdout) != 0)
        err(2, "the output cannot be written");
    return status;
}
