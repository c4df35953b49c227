#!/usr/bin/env python3
"""pprof.py FILE: the stacks of a profile of `mpit-dump --pprof`, a line each with its microseconds. - is standard input.

    rank 0;app 4711;main;solve;MPI_Recv;[stall recv] 120000

It reads the numbers of fields that pprof documents, and uses nothing of mpit.
"""
import gzip
import sys


def varint(data, at):
    """-> a number of a protocol buffer, and where the next thing begins"""
    value, shift = 0, 0
    while True:
        value |= (data[at] & 0x7f) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 0x80:
            return value, at


def message(data):
    """-> the fields of a message by number: each a list of numbers and of bytes"""
    fields, at = {}, 0
    while at < len(data):
        head, at = varint(data, at)
        value, at = varint(data, at)
        assert head & 7 in (0, 2), f"a field of type {head & 7}"
        if head & 7 == 2:
            value, at = data[at:at + value], at + value
        fields.setdefault(head >> 3, []).append(value)
    assert at == len(data), "a field ends behind its message"
    return fields


def numbers(packed):
    """-> the numbers of a packed list"""
    values, at = [], 0
    while at < len(packed):
        value, at = varint(packed, at)
        values.append(value)
    return values


class Profile:
    """texts, kinds of values, functions (name, file), and samples (frames with the outermost first, values, labels)"""

    def __init__(self, path):
        with gzip.open(sys.stdin.buffer if path == "-" else path) as file:
            top = message(file.read())
        self.texts = texts = [text.decode() for text in top[6]]
        self.kinds = [texts[message(kind)[1][0]] for kind in top[1]]
        functions = {fields[1][0]: (texts[fields[2][0]], texts[fields.get(4, [0])[0]]) for fields in map(message, top[5])}
        places = {fields[1][0]: functions[message(fields[4][0])[1][0]][0] for fields in map(message, top[4])}
        self.functions = list(functions.values())
        self.samples = []
        for fields in map(message, top[2]):
            labels = {texts[label[1][0]]: texts[label[2][0]] for label in map(message, fields[3])}
            self.samples.append(([places[number] for number in reversed(numbers(fields[1][0]))], numbers(fields[2][0]), labels))

    def lines(self):
        """-> nanoseconds by stack, as text"""
        sums = {}
        for frames, (_, ns), labels in self.samples:
            parts = [f"rank {labels['rank']}", labels["thread"], *frames]
            line = ";".join(part.replace(";", ":").replace("\n", "?") for part in parts)
            sums[line] = sums.get(line, 0) + ns
        return sums


if __name__ == "__main__":
    for stack, time in sorted(Profile(sys.argv[1]).lines().items()):
        print(stack, (time + 500) // 1000)
