#!/usr/bin/python3
"""How often an OTF2 archive has each call path, as JSON on standard output: [[function of MPI, [[function, line], ...], calls], ...].

    archivepaths.py ARCHIVE

The frames are innermost first. A function without a name is null. The system's own Python, since the module is Debian's.
"""
import collections
import json
import sys

import otf2


def frames_of(context):
    while context is not None:
        known = "+0x" not in context.region.name
        place = context.source_code_location
        yield context.region.name if known else None, place.line_number or None if known and place else None
        context = context.parent


counts = collections.Counter()
with otf2.reader.open(sys.argv[1]) as trace:
    for _, event in trace.events:
        if isinstance(event, otf2.events.Enter):
            paths = [value for attribute, value in event.attributes.items() if attribute.name == "call path"]
            counts[event.region.name, tuple(frames_of(paths[0])) if paths else ()] += 1
json.dump([[*key, count] for key, count in counts.items()], sys.stdout)
