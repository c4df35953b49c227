/* What many figures need: times, and bars of times. */

const ENDS = ["MPI_Init", "MPI_Init_thread", "MPI_Finalize", "MPI_Session_init", "MPI_Session_finalize"];

function callsOf(job) {
  return Object.entries(job.summary.calls || {}).map(([name, call]) => ({name, ...call}));
}

/* Sums over the communicators. */
function commSum(job, key) {
  return d3.sum(job.summary.communicators || [], (comm) => comm[key] || 0);
}

/* No call was timed: no time is known of any, which is another thing than 0 s. */
function isUntimed(job) {
  return job.summary.timing === 0;
}

/* Recording was off for a part of the run, and shares are of the rest. */
function wasOff(summary) {
  return summary.off_seconds !== null && summary.off_seconds.max > 0 && summary.recorded_seconds !== null;
}

/* The recorded time of all ranks together; null for a part of a run, and where it is not known. */
function runNs(job) {
  const run = job.summary.recorded_seconds;
  return run ? run.mean * job.summary.ranks * 1e9 : null;
}

/* Time of all threads between MPI_Init and MPI_Finalize, in parts; null where it is not known. */
function timeParts(job) {
  const summary = job.summary, mpi = summary.mpi_seconds.mean * summary.ranks;
  const rows = job.ranks.unknown === undefined ? job.ranks : null;
  let stalled = null;
  if (summary.calls && summary.stalls_ns !== null)
    stalled = d3.sum(callsOf(job), (call) => ENDS.includes(call.name) ? 0 : call.stall_ns || 0) / 1e9;
  else if (!summary.calls && rows && rows.stall_ns)
    stalled = d3.sum(rows.stall_ns) / 1e9;
  if (isAnew(job)) return {mpi, stalled, whole: null};
  const whole = rows && rows.known === summary.ranks                ? d3.sum(rows.thread_seconds) :
      summary.threads === summary.ranks && summary.recorded_seconds ? summary.recorded_seconds.mean * summary.ranks :
                                                                      null;
  return {mpi, stalled, whole};
}

/* The stalled share of a time; null where it is not known. */
function stalledShare(part) {
  return part.stall_ns === null || !part.time_ns ? null : Math.min(1, part.stall_ns / part.time_ns);
}

/* A bar of {time_ns, stall_ns}. Calls outside of the run have none: they would hide the others. */
function timeBar(name, part, most, outside) {
  const pieces = part.stall_ns === null ?
      [["unsplit", part.time_ns]] :
      [["work", Math.max(0, part.time_ns - part.stall_ns)], ["stall", part.stall_ns]];
  return cellBar(
      outside ? [] : pieces, most,
      name + ": " + exactly("ns", part.time_ns) +
          (outside           ? "\noutside of the run" :
               part.stall_ns ? "\nstalled " + exactly("ns", part.stall_ns) :
                               ""));
}

function timeLegend(parts) {
  const unsplit = parts.some((part) => part.stall_ns === null && !ENDS.includes(part.mpi || part.name));
  return legend([["work", "at work in MPI"], ["stall", "stalled"], ...unsplit ? [["unsplit", "not known apart"]] : []]);
}
