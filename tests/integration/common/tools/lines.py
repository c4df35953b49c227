# The summary has a line for each communicator of names.c: its whole name, and behind it, or below where it is long, its
# numbers in the columns of the head.
import sys
text = open(sys.argv[1]).read().split("Communicators by time, sums over all ranks\n")[1].split("\n\n")[0]
head, *lines = text.splitlines()
columns = [head.index(word) + len(word) for word in ("size", "time", "messages")]
left = ["MPI_COMM_WORLD"]
while len(left) < 6:
    left.append(left[-1] + "/split#1:0")
while lines:
    name, _, numbers = lines.pop(0)[2:].partition(" ")
    if not numbers:
        assert len(name) > 26, name
        numbers = lines.pop(0)
        assert numbers[:26].strip() == "", numbers
    else:
        numbers = "  " + name + " " + numbers
    left.remove(name)
    size, messages = (numbers[:columns[i]].split()[-1] for i in (0, 2))
    assert all(numbers[column - 1] != " " and numbers[column:column + 1] == " " for column in columns), numbers
    assert (size, messages) == ("1", "1"), numbers
assert not left, left
