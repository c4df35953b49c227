"""places.py WHAT JSON LINES: compares the places in JSON with the lines that places.c wrote."""
import json
import sys


def read_lines(path):
    lines = {}
    for name, number in (line.split() for line in open(path)):
        lines[name] = int(number)
    return lines


def is_at(site, mpi, function, line):
    return (site["mpi"], site["function"], site["file"].split("/")[-1], site["line"]) == (mpi, function, "places.c", line)


def top(document, lines):
    ranks = {rank["rank"]: rank["call"] for rank in document["jobs"][0]["ranks"]}
    assert is_at(ranks[1]["site"], "MPI_Recv", "hang", lines["recv"]), ranks[1]
    assert ranks[1]["at"] == "places.c:%d (hang < main)" % lines["recv"], ranks[1]
    assert ranks[0]["site"]["mpi"] == "MPI_Reduce" and ranks[0]["site"]["function"] == "hang", ranks[0]
    assert [frame["function"] for frame in ranks[1]["site"]["path"]][:2] == ["hang", "main"], ranks[1]


globals()[sys.argv[1]](json.load(open(sys.argv[2])), read_lines(sys.argv[3]))
