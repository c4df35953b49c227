/* Computation between two MPI calls, by the places of both. */

function segmentsFigure(job) {
  const analysis = job.analysis, segments = analysis.segments;
  if (analysis.unknown !== undefined || !segments || !segments.length) return null;
  const site = (number) => number === null ? null : analysis.callsites[number];
  const spread = (segment) => spreadOf(segment, analysis.ranks.length);
  const most = segments[0].time_ns.max || 1, uneven = segments.reduce((a, b) => spread(b) > spread(a) ? b : a);
  const columns = [
    {title: "From", kind: "call", value: (row) => site(row.from)},
    {title: "To", kind: "call", value: (row) => site(row.to)}, {
      title: "",
      kind: "node",
      value: (row) => rangeBar(
          row.time_ns, most,
          "least " + textOfNs(row.time_ns.min) + ", mean " + textOfNs(row.time_ns.mean) + ", most " +
              textOfNs(row.time_ns.max) + " on rank " + row.time_ns.max_rank)
    },
    {title: "Least", kind: "ns", key: "min", value: (row) => row.time_ns.min},
    {title: "Mean", kind: "ns", key: "mean", value: (row) => row.time_ns.mean}, {
      title: "Most (rank)",
      kind: "ns",
      key: "max",
      value: (row) => row.time_ns.max,
      small: (row) => "(" + row.time_ns.max_rank + ")"
    },
    {
      title: "Critical path",
      kind: "ns",
      key: "critical",
      value: (row) => row.critical_ns,
      hint: "the part of it that lies on the critical path"
    },
    {
      title: "Waits caused",
      kind: "ns",
      key: "caused",
      value: (row) => row.caused_ns,
      hint: "waits of other ranks that came after it"
    },
    {title: "Times", kind: "count", key: "count", value: (row) => row.count},
    {title: "Ranks", kind: "count", key: "ranks", value: (row) => row.ranks}
  ];
  return figure(
      "segments", "Segments",
      spread(uneven) > 0 ? "Computation between " + placeText(site(uneven.from)) + " and " +
              placeText(site(uneven.to)) + " takes " + textOfNs(uneven.time_ns.max) + " on rank " +
              uneven.time_ns.max_rank + ", " + textOfNs(uneven.time_ns.max - spread(uneven)) + " on average" :
                             "Computation between MPI calls",
      table("segments", columns, segments, 8),
      analysis.segments_left_out ?
          note("The " + textOfCount(analysis.segments_left_out) + " shortest segments are left out.") :
          null,
      note(
          "A segment is the computation of a thread between two MPI calls. Times are sums over all passes of a rank. " +
          "The bar goes from the least to the most of the ranks, with a mark at the mean."));
}

/* How much longer the slowest rank takes than the mean of all ranks. A rank without the segment takes no time there. */
function spreadOf(segment, ranks) {
  return segment.time_ns.max - segment.time_ns.mean * segment.ranks / Math.max(ranks, segment.ranks);
}

function rangeBar(range, most, label) {
  const bar = make("div", {class: "cellbar range", "data-tip": label}), part = (value) => 100 * value / most + "%";
  const span = make("span", {class: "fill-out"}), mark = make("i", {});
  span.style.marginLeft = part(range.min);
  span.style.width = part(Math.max(range.max - range.min, most / 200));
  mark.style.left = part(range.mean);
  bar.append(span, mark);
  return bar;
}
