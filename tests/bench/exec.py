#!/usr/bin/env python3
"""What libmpit.so adds to each process that is started: /bin/true with and without it, in turn, in one sitting.

    exec.py BUILD [--pairs N]

Prints the median of the differences within pairs and its ratio to the bare process. Machines are shared and noisy: of both,
the median over many pairs holds.
"""
import argparse
import os
import statistics
import time


def seconds(preload):
    environment = {"LD_PRELOAD": preload} if preload else {}
    begin = time.perf_counter()
    pid = os.posix_spawn("/bin/true", ["true"], environment)
    os.waitpid(pid, 0)
    return time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--pairs", type=int, default=1000)
    options = parser.parse_args()
    library = os.path.join(os.path.abspath(options.build), "lib", "libmpit")
    for name, preload in (("libmpit.so", library + ".so"),
                          ("with libmpit-sampler.so", library + "-sampler.so:" + library + ".so")):
        pairs = [(seconds(None), seconds(preload)) for _ in range(options.pairs)]
        bare = statistics.median(one for one, _ in pairs)
        added = statistics.median(other - one for one, other in pairs)
        print(f"{name}: adds {added * 1e3:.3f} ms to {bare * 1e3:.3f} ms, {added / bare:.2f} of it")


main()
