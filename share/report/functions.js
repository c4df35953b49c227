/* Time by function, with how evenly the ranks share it. */

function functionRows(job) {
  const spreads = new Map((job.ranks.functions || []).map((spread) => [spread.name, spread]));
  return callsOf(job)
      .map((call) => ({...call, spread: spreads.get(call.name)}))
      .sort((a, b) => b.time_ns - a.time_ns || b.count - a.count);
}

function balanceOf(spread) {
  return spread && spread.max_ns > 0 ? spread.mean_ns / spread.max_ns : null;
}

function functionsUntimed(job) {
  return figure(
      "functions", "Functions", "No call was timed",
      table(
          "functions",
          [
            {title: "Function", kind: "text", value: (row) => row.name},
            {title: "Calls", kind: "count", key: "count", value: (row) => row.count}
          ],
          functionRows(job)),
      note("Calls of all ranks and threads. Their times are unknown (mpit_timing 0)."));
}

function functionsFigure(job) {
  if (isUntimed(job)) return functionsUntimed(job);
  const rows = functionRows(job), inner = rows.filter((row) => !ENDS.includes(row.name));
  const whole = d3.sum(inner, (row) => row.time_ns), most = rows.length ? rows[0].time_ns : 0;
  const known = job.ranks.unknown === undefined;
  const bar = (row) => cellBar(
      row.stall_ns === null ? [["unsplit", row.time_ns]] :
                              [["work", row.time_ns - row.stall_ns], ["stall", row.stall_ns]],
      most || 1,
      row.name + ": " + exactly("ns", row.time_ns) + (row.stall_ns ? "\nstalled " + exactly("ns", row.stall_ns) : ""));
  const columns = [
    {title: "Function", kind: "text", value: (row) => row.name},
    {title: "", kind: "node", value: bar},
    {title: "Time", kind: "ns", key: "time", value: (row) => row.time_ns},
    {
      title: "Share",
      kind: "share",
      key: "share",
      value: (row) => whole && !ENDS.includes(row.name) ? row.time_ns / whole : null,
      hint: "of the time in all functions except MPI_Init and MPI_Finalize"
    },
    {title: "Stalled", kind: "ns", key: "stall", value: (row) => row.stall_ns},
    {title: "Calls", kind: "count", key: "count", value: (row) => row.count},
    {title: "A call", kind: "ns", key: "call", value: (row) => row.count ? row.time_ns / row.count : null},
  ];
  if (rows.some((row) => row.fabric_ns !== null))
    columns.push({title: "Below MPI", kind: "ns", key: "fabric", value: (row) => row.fabric_ns});
  if (known)
    columns.push(
        {title: "Mean of ranks", kind: "ns", key: "mean", value: (row) => row.spread ? row.spread.mean_ns : null}, {
          title: "Most (rank)",
          kind: "ns",
          key: "max",
          value: (row) => row.spread ? row.spread.max_ns : null,
          small: (row) => "(" + row.spread.max_rank + ")"
        },
        {
          title: "Balance",
          kind: "ratio",
          key: "balance",
          value: (row) => balanceOf(row.spread),
          hint: "mean / most: 1 where all ranks take the same"
        });
  const heading = !whole ?
      "No time was measured in MPI" :
      inner[0].name + " has " + textOfShare(inner[0].time_ns / whole) + " of the time in MPI functions";
  return figure(
      "functions", "Functions", heading,
      legend([["work", "at work"], ["stall", "stalled"], ["unsplit", "not known apart"]]),
      table("functions", columns, rows),
      note(
          "Time inside each function, all ranks and threads together. A call made by another call " +
          "counts in both. Shares leave out MPI_Init and MPI_Finalize." +
          (known ? " Balance is the mean of all ranks over the largest of any: 1 is even, 1/ranks is one " +
                   "rank alone." :
                   "")),
      known ? null : missing("Times by rank are unknown: " + job.ranks.unknown + "."));
}
