/* What only some runs have: counters, the layer below MPI, samples, figures of other libraries. */

function counterColumns(places, kind) {
  const ofPlace = (place) => ({
    title: place.replace(/_/g, " "),
    kind,
    key: "place-" + place,
    value: (counter) => counter.places[place] === undefined ? null : counter.places[place],
  });
  return [
    {title: "Counter", kind: "text", value: (counter) => counter.name},
    {title: "Total", kind, key: "total", value: (counter) => counter.total},
    ...places.map(ofPlace),
    {title: "Mean of ranks", kind, key: "mean", value: (counter) => counter.by_rank.mean},
    {
      title: "Most (rank)",
      kind,
      key: "max",
      value: (counter) => counter.by_rank.max,
      small: (counter) => "(" + counter.by_rank.max_rank + ")",
    },
    {
      title: "Balance",
      kind: "ratio",
      key: "balance",
      value: (counter) => counter.by_rank.max ? counter.by_rank.mean / counter.by_rank.max : null,
    },
  ];
}

function countersFigure(job) {
  const counters = job.summary.counters;
  if (!counters || !counters.length) return null;
  const places = [...new Set(counters.flatMap((counter) => Object.keys(counter.places)))];
  const times = counters.filter((counter) => counter.unit === "ns");
  const counts = counters.filter((counter) => counter.unit !== "ns");
  const part = (name, title, list, kind) =>
      list.length ? [make("h3", {}, title), table(name, counterColumns(places, kind), list, 40)] : [];
  return figure(
      "counters", "Counters", textOfPairs(counters.length, "counter", "counters") + " of the system and of PAPI",
      part("counters-counts", "Counts", counts, "count"), part("counters-times", "Times", times, "ns"),
      note("Sums over all ranks, by place of the thread. counters.md defines the places."));
}

function fabricFigure(job) {
  const fabric = job.summary.fabric;
  if (fabric === null) return null;
  if (!fabric.providers.length)
    return figure(
        "fabric", "Below MPI", "No calls of libfabric or UCX",
        missing("The transport of the MPI library (shared memory within a node, or its own TCP) does not use them."));
  const functions =
      fabric.providers
          .flatMap(
              (provider) => Object.entries(provider.functions)
                                .map(([name, called]) => ({provider: provider.provider, name, ...called})))
          .sort((a, b) => b.time_ns - a.time_ns);
  return figure(
      "fabric", "Below MPI", "MPI uses " + fabric.providers.map((provider) => provider.provider).join(" and "),
      table(
          "fabric",
          [
            {title: "Provider", kind: "text", value: (row) => row.provider},
            {title: "Ranks", kind: "count", key: "ranks", value: (row) => row.ranks},
            {title: "Time", kind: "ns", key: "time", value: (row) => row.time_ns},
            {title: "Polls", kind: "count", key: "polls", value: (row) => row.polls},
            {title: "found nothing", kind: "count", key: "empty_polls", value: (row) => row.empty_polls},
            {title: "Polling", kind: "ns", key: "poll", value: (row) => row.poll_ns},
            {title: "Again", kind: "count", key: "again", value: (row) => row.again},
            {title: "Errors", kind: "count", key: "errors", value: (row) => row.errors},
            {title: "Most outstanding", kind: "count", key: "most", value: (row) => row.most_outstanding}
          ],
          fabric.providers),
      make("h3", {}, "Its functions"),
      table(
          "fabric-functions",
          [
            {title: "Function", kind: "text", value: (row) => row.name},
            {title: "of", kind: "text", value: (row) => row.provider},
            {title: "Kind", kind: "text", value: (row) => row.kind},
            {title: "Calls", kind: "count", key: "count", value: (row) => row.count},
            {title: "Bytes", kind: "bytes", key: "bytes", value: (row) => row.bytes},
            {title: "Time", kind: "ns", key: "time", value: (row) => row.time_ns}
          ],
          functions, 12),
      note(
          "Calls of libfabric and UCX by MPI, over all ranks; below.md defines the columns. " +
          "Again: operations that were refused and tried again."));
}

const SAMPLE_STATES =
    [["not_in_mpi", "out", "not in MPI"], ["work", "work", "at work in MPI"], ["stall", "stall", "stalled in MPI"]];

/* Time by kind: all reasons of a stall together. */
function sampleParts(states) {
  return SAMPLE_STATES.map(
      ([key, name]) =>
          [name,
           key === "stall" ? d3.sum(Object.entries(states), ([state, ns]) => state.startsWith("stall") ? ns : 0) :
                             states[key] || 0]);
}

function sampleStateText(name) {
  return SAMPLE_STATES.find((state) => state[1] === name)[2];
}

function sampleLinesTable(lines, whole) {
  return table(
      "sample-lines",
      [
        {
          title: "Line",
          kind: "text",
          value: (row) => (row.file ? baseName(row.file) + ":" + row.line + " " : "(no line) ") + row.function
        },
        {title: "Own", kind: "ns", key: "self", value: (row) => row.self_ns},
        {title: "Share", kind: "share", key: "share", value: (row) => row.self_ns / whole, hint: "of the sampled time"},
        {title: "With MPI below", kind: "ns", key: "mpi", value: (row) => row.mpi_ns},
      ],
      lines, 12);
}

function sampleFunctionsTable(functions, whole) {
  return table(
      "sample-functions",
      [
        {title: "Function", kind: "text", value: (row) => row.name},
        {title: "Own", kind: "ns", key: "self", value: (row) => row.self_ns},
        {title: "Share", kind: "share", key: "share", value: (row) => row.self_ns / whole, hint: "of the sampled time"},
        {title: "With MPI below", kind: "ns", key: "mpi", value: (row) => row.mpi_ns},
        {title: "With all below", kind: "ns", key: "total", value: (row) => row.total_ns},
      ],
      functions, 12);
}

function placeName(place) {
  const line = place.line ? " (" + (place.file || "?").split("/").pop() + ":" + place.line + ")" : "";
  return place.call + (place.function ? " in " + place.function : "") + line;
}

function samplePlacesTable(places) {
  const most = places.length ? places[0].time.ns : 1;
  const bar = (row) => {
    const parts = sampleParts(row.time.states_ns);
    return cellBar(parts, most || 1, parts.map(([name, ns]) => sampleStateText(name) + " " + textOfNs(ns)).join("\n"));
  };
  return table(
      "sample-places",
      [
        {title: "Call", kind: "text", value: placeName},
        {title: "", kind: "node", value: bar},
        {title: "Time", kind: "ns", key: "time", value: (row) => row.time.ns},
      ],
      places, 12);
}

function samplesFigure(job) {
  const profile = job.profile;
  if (!profile) return null;
  const functions = [...profile.functions].sort((a, b) => b.self_ns - a.self_ns);
  const lines = [...profile.lines].sort((a, b) => b.self_ns + b.mpi_ns - a.self_ns - a.mpi_ns);
  const places = [...profile.places].sort((a, b) => b.time.ns - a.time.ns);
  const whole = profile.time.ns || 1, parts = sampleParts(profile.time.states_ns);
  const texts = parts.map(([name, ns]) => [name, sampleStateText(name) + " " + textOfShare(ns / whole), ns]);
  const split = make(
      "div", {class: "split", role: "img", "aria-label": "Shares of the sampled time"},
      texts.filter(([, , ns]) => ns > 0).map(([name, text, ns]) => {
        const piece = make("span", {class: "fill-" + name, "data-tip": text});
        piece.style.width = 100 * ns / whole + "%";
        return piece;
      }));
  return figure(
      "samples", "Samples",
      functions.length ?
          functions[0].name + " itself has " + textOfShare(functions[0].self_ns / whole) + " of the sampled time" :
          "Samples of the threads",
      split, legend(texts),
      flamePart(
          "flame", "Paths", "the sampled time", profile.flame && {...profile.flame, ns: profile.time.ns}),
      make(
          "div", {class: "columns"},
          make("div", {}, make("h3", {}, "Functions, by their own time"), sampleFunctionsTable(functions, whole)),
          make("div", {}, make("h3", {}, "Where MPI was called"), samplePlacesTable(places))),
      lines.length ? [make("h3", {}, "Lines, by their own time"), sampleLinesTable(lines, whole)] : null,
      note(
          textOfPairs(profile.time.samples, "sample", "samples") + " of " +
          textOfPairs(profile.threads, "thread", "threads") + ", one each " + textOfNs(profile.period_ns) +
          " of a thread; each represents the time since the sample before it. In the flame graph callers " +
          "are above, and the width is the time. mpit-dump --profile --ranks LIST shows single ranks. " +
          "profile.md defines the values."));
}

function instrumentsFigure(job) {
  const list = job.summary.instruments || [];
  if (!list.length) return null;
  const number = (value) => value === undefined || value === null ? "–" :
      Number.isInteger(value)                                     ? textOfCount(value) :
                                                                    String(Number(value.toPrecision(6)));
  return figure(
      "instruments", "Instruments", textOfPairs(list.length, "number", "numbers") + " of the program and its libraries",
      table(
          "instruments",
          [
            {title: "Variable", kind: "text", value: (row) => row.name},
            {title: "Of", kind: "text", value: (row) => row.component},
            {title: "Class", kind: "text", value: (row) => row.class}, {
              title: "Item",
              kind: "text",
              value: (row) => row.item || (row.element === undefined ? "" : String(row.element))
            },
            {title: "Communicator", kind: "text", value: (row) => row.communicator || ""},
            {title: "Ranks", kind: "count", key: "ranks", value: (row) => row.ranks},
            {title: "Sum", kind: "text", class: "number", value: (row) => number(row.sum)},
            {title: "Mean", kind: "text", class: "number", value: (row) => number(row.mean)},
            {title: "Most", kind: "text", class: "number", value: (row) => number(row.max)},
            {title: "Unit", kind: "text", value: (row) => row.unit}
          ],
          list, 20),
      note("Declared with mpit/instrument.h; over the ranks that have them. instrument.md defines the classes."));
}
