"""The events of an OTF2 archive, and their comparison with the counts of the program itself."""
import re
import subprocess


def events(archive):
    """Each event of the archive: its rank, its kind, and the line that otf2-print has for it."""
    text = subprocess.run(["otf2-print", archive + "/traces.otf2"], stdout=subprocess.PIPE, check=True).stdout.decode()
    for line in text.splitlines():
        words = line.split(None, 2)
        if len(words) == 3 and words[1].isdigit():
            yield int(words[1]) & 0xffffffff, words[0], line  # a location is thread << 32 | rank


def region(line):
    """The function that an ENTER enters."""
    return re.search(r"Region: \"([^\"]*)\"", line).group(1)


class Comparison:
    """How many figures were compared, and how many differ."""

    def __init__(self):
        self.checked = self.wrong = 0

    def same(self, rank, what, is_, expected):
        """Says it where they differ."""
        self.checked += 1
        if is_ != expected:
            self.wrong += 1
            print(f"rank {rank}, {what}: {is_}, the program counted {expected}")
