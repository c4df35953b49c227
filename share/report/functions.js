/* Time by function, with how evenly the ranks share it. */

function functionRows(job) {
  const spreads = new Map((job.ranks.functions || []).map((spread) => [spread.name, spread]));
  return callsOf(job)
      .map((call) => ({...call, spread: spreads.get(call.name), outside: ENDS.includes(call.name)}))
      .sort((a, b) => a.outside - b.outside || b.time_ns - a.time_ns || b.count - a.count);
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

/* MPI_Init and MPI_Finalize come last. */
function functionColumns(job, rows) {
  const inner = rows.filter((row) => !row.outside), most = d3.max(inner, (row) => row.time_ns) || 1;
  const whole = runNs(job) || d3.sum(inner, (row) => row.time_ns);
  const columns = [
    {title: "Function", kind: "text", value: (row) => row.name},
    {title: "", kind: "node", value: (row) => timeBar(row.name, row, most, row.outside)},
    {title: "Calls", kind: "count", key: "count", value: (row) => row.count},
    {title: "Time", kind: "ns", key: "time", value: (row) => row.time_ns},
    {
      title: runNs(job) ? "Of run" : "Share",
      kind: "share",
      key: "share",
      value: (row) => whole && !row.outside ? row.time_ns / whole : null,
      hint: runNs(job) ? "of the run time of all ranks" : "of the time in all functions"
    },
    {title: "Stalled", kind: "share", key: "stalled", value: stalledShare, hint: "of the time in this function"},
    {
      title: "Mean",
      kind: "ns",
      key: "call",
      value: (row) => row.count ? row.time_ns / row.count : null,
      hint: "of a call"
    },
  ];
  if (rows.some((row) => row.fabric_ns !== null))
    columns.push({title: "Below MPI", kind: "ns", key: "fabric", value: (row) => row.fabric_ns});
  if (rows.some((row) => row.spread))
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
  return columns;
}

function functionsFigure(job) {
  if (!job.summary.calls) return null;
  if (isUntimed(job)) return functionsUntimed(job);
  const rows = functionRows(job), inner = rows.filter((row) => !row.outside);
  const whole = runNs(job) || d3.sum(inner, (row) => row.time_ns);
  const heading = !inner.length || !whole ? "No time was measured in MPI" :
                                            inner[0].name + " takes " + textOfShare(inner[0].time_ns / whole) +
          (runNs(job) ? " of the run" : " of the time in MPI functions");
  return figure(
      "functions", "Functions", heading, timeLegend(rows),
      table("functions", functionColumns(job, rows), rows, 15, (row) => ({class: row.outside ? "outside" : null})),
      note(
          "Time inside each function, all ranks and threads together. A call made by another call counts in both." +
          (rows.some((row) => row.spread) ? " Balance is the mean of all ranks over the largest of any: 1 is even, " +
                   "1/ranks is one rank alone." :
                                            "")));
}
