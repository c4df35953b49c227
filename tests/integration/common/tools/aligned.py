# The columns of an event list stand where its head says: each of the words below ends, or begins, in one column.
import sys
head, *lines = open(sys.argv[1]).read().splitlines()
assert lines, "no events"
comm, peer, size = head.index("communicator"), head.index("peer") + 4, head.index("bytes") + 5
deepest = 0
for line in lines:
    if not line[:5].strip():
        continue  # what belongs to a call
    name = line[comm:].split()[0]
    deepest = max(deepest, len(name))
    assert line[comm - 1] == " " and line[comm + len(name)] == " ", line
    assert line[peer - 1] != " " and line[peer] == " ", line
    assert line[size - 1] != " " and line[size:size + 1] in ("", " "), line
assert deepest >= len(sys.argv[2]), "no name is as long as " + sys.argv[2]
