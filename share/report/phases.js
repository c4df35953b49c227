/* Named parts of the program: phases of MPI_Pcontrol, and regions of other libraries that have calls of MPI. */

/* The mean recorded time of a rank in the phase: stalled, at work in MPI, and outside of MPI. */
function phaseBar(phase, most) {
  const mpi = phase.mpi_seconds ? phase.mpi_seconds.mean : 0;
  const stalled = phase.stalled_seconds ? Math.min(mpi, phase.stalled_seconds.mean) : 0;
  const pieces = [["stall", stalled], ["work", mpi - stalled], ["out", Math.max(0, phase.recorded_seconds.mean - mpi)]];
  return cellBar(pieces, most, phase.name + ": " + textsOf.s(phase.recorded_seconds.mean) + " of a rank");
}

function phaseColumns(rows) {
  const most = d3.max(rows, (phase) => phase.recorded_seconds.mean) || 1;
  const share = (part, whole) => part && whole && whole.mean ? Math.min(1, part.mean / whole.mean) : null;
  return [
    {title: "Phase", kind: "text", value: (phase) => phase.name},
    {title: "", kind: "node", value: (phase) => phaseBar(phase, most)}, {
      title: "Times",
      kind: "count",
      key: "count",
      value: (phase) => phase.count,
      hint: "how often it ended, on all ranks"
    },
    {
      title: "Mean",
      kind: "s",
      key: "mean",
      value: (phase) => phase.recorded_seconds.mean,
      hint: "recorded time of a rank"
    },
    ...[["Least (rank)", "min"], ["Most (rank)", "max"]].map(
        ([title, key]) => ({
          title,
          kind: "s",
          key,
          value: (phase) => phase.recorded_seconds[key],
          small: (phase) => "(" + phase.recorded_seconds[key + "_rank"] + ")"
        })),
    {title: "In MPI", kind: "share", key: "mpi", value: (phase) => share(phase.mpi_seconds, phase.recorded_seconds)}, {
      title: "Stalled",
      kind: "share",
      key: "stalled",
      value: (phase) => share(phase.stalled_seconds, phase.mpi_seconds),
      hint: "of the time in MPI"
    },
    {
      title: "Efficiency",
      kind: "share",
      key: "efficiency",
      value: (phase) => phase.efficiency.parallel,
      hint: "parallel efficiency of the ranks that were in it"
    },
    {title: "Balance", kind: "share", key: "balance", value: (phase) => phase.efficiency.load_balance},
    {title: "MPI calls", kind: "count", key: "calls", value: (phase) => phase.calls}
  ];
}

function phasesFigure(job) {
  const regions = (job.summary.regions || []).filter((region) => region.calls);
  const rows = [...job.summary.phases || [], ...regions].sort((a, b) => b.recorded_seconds.mean - a.recorded_seconds.mean);
  if (!rows.length) return null;
  return figure(
      "phases", "Phases", rows[0].name + " takes " + textsOf.s(rows[0].recorded_seconds.mean) + " of a rank",
      legend([["stall", "stalled"], ["work", "at work in MPI"], ["out", "not in MPI"]]),
      table("phases", phaseColumns(rows), rows, 15),
      note(
          "Parts of the program that it names with MPI_Pcontrol, and regions of libraries with calls of MPI. An outer " +
          "one includes the inner ones. The figures are of the threads that were in them."));
}
