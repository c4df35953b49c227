/* What the run was, and where its time went. */

const ENDS = ["MPI_Init", "MPI_Init_thread", "MPI_Finalize", "MPI_Session_init", "MPI_Session_finalize"];

function callsOf(job) {
  return Object.entries(job.summary.calls).map(([name, call]) => ({name, ...call}));
}

/* Sums over the communicators. */
function commSum(job, key) {
  return d3.sum(job.summary.communicators, (comm) => comm[key] || 0);
}

/* No call was timed: no time is known of any, which is another thing than 0 s. */
function isUntimed(job) {
  return job.summary.timing === 0;
}

/* Time of all threads between MPI_Init and MPI_Finalize, in parts; null where it cannot be told. */
function timeParts(job) {
  const summary = job.summary, mpi = summary.mpi_seconds.mean * summary.ranks;
  const stalled = summary.stalls_ns === null ?
      null :
      d3.sum(callsOf(job), (call) => ENDS.includes(call.name) ? 0 : call.stall_ns || 0) / 1e9;
  if (isAnew(job)) return {mpi, stalled, whole: null};
  const whole = job.ranks.unknown === undefined && job.ranks.known === summary.ranks ?
      d3.sum(job.ranks.thread_seconds) :
      summary.threads === summary.ranks ? summary.run_seconds.mean * summary.ranks :
                                          null;
  return {mpi, stalled, whole};
}

function tile(title, kind, value, small) {
  return make(
      "div", {class: "tile"}, make("dt", {}, title), figureOf("dd", kind, value, {"data-tile": title}),
      small ? make("small", {}, small) : null);
}

/* What was asked for, and what of a part nobody can tell. */
function partNotices(job) {
  const part = job.summary.selection, list = [];
  if (part === undefined) return list;
  list.push(
      "A part of the run: " + part.options + ". " +
      (part.from === "trace" ?
           "Calls were counted from the trace. Run time, counters, libraries below MPI and values of other " +
               "libraries are unknown for a part." :
           "All values are of " + textOfPairs(part.ranks, "rank", "ranks") + " of " +
               textOfCount(job.summary.world_size) + "."));
  if (part.missing)
    list.push(
        textOfPairs(part.missing, "event record", "event records") +
        " of these ranks are missing in the trace, and here.");
  if (part.switched && isAnew(job)) list.push("The trace was switched on or off: events outside of it are missing.");
  if (job.summary.ended_badly) list.push("Calls that did not return are missing; mpit-dump --crash shows them.");
  if (job.analysis.unknown === undefined)
    list.push(
        "Wait states are of the selected part. The whole trace was used to match messages and to find the critical path.");
  return list;
}

function notices(job) {
  const summary = job.summary, list = partNotices(job);
  const wanted = summary.selection === undefined ? summary.world_size : summary.selection.ranks;
  if (summary.ranks < wanted)
    list.push(wanted - summary.ranks + " of " + wanted + " ranks have no results: all values are of the others.");
  if (summary.ended_badly)
    list.push(textOfPairs(summary.ended_badly, "process", "processes") + " did not end normally.");
  const lost = Object.entries(summary.lost);
  if (lost.length)
    list.push(
        "Not recorded: " + lost.map(([cause, count]) => textOfCount(count) + " (" + cause + ")").join(", ") + ".");
  if (summary.filter === null)
    list.push("The processes had different filters: functions may be missing.");
  else if (summary.filter)
    list.push("Recorded with the filter " + summary.filter + ": other functions are missing.");
  if (summary.timing === null)
    list.push("Not all calls were timed alike (mpit_timing): times are estimates.");
  else if (summary.timing !== 1)
    list.push(
        summary.timing ? "One of " + summary.timing + " calls was timed: times are estimates." : "No call was timed.");
  if (summary.off_seconds !== null && summary.off_seconds.max > 0)
    list.push("The recording was off for up to " + textsOf.s(summary.off_seconds.max) + " of a rank (MPI_Pcontrol).");
  if (job.timeline.untimed)
    list.push(textOfCount(job.timeline.untimed) + " calls have no time, and are missing in the timeline.");
  for (const text of job.analysis.notes || []) list.push(text);
  return list.length ? make("ul", {class: "notices"}, list.map((text) => make("li", {}, text))) : null;
}

/* In which calls the processes were that did not come to their end: no figure has the time of a call that did not
 * return. */
function unended(job) {
  if (!job.unended) return null;
  const lines = job.unended.split("\n").map((line) => line.trim()).filter((line) => line);
  return make(
      "div", {class: "unended", "data-figure-part": "unended"},
      make("p", {}, lines[0] + " The figures have only calls that returned. Calls that did not return:"),
      make("ul", {}, lines.slice(1).map((line) => make("li", {}, line))));
}

function splitBar(parts) {
  const inside = parts.mpi - (parts.stalled || 0),
        whole = parts.whole === null ? parts.mpi : Math.max(parts.whole, parts.mpi);
  const pieces = [
    ["out", "Not in MPI", whole - parts.mpi], ["work", parts.stalled === null ? "In MPI" : "At work in MPI", inside],
    ["stall", "Stalled in MPI", parts.stalled || 0]
  ].filter(([, , seconds]) => seconds > 0);
  const bar = make(
      "div", {
        class: "split",
        role: "img",
        "data-figure-part": "split",
        "aria-label": pieces.map(([, text, seconds]) => text + " " + textOfShare(seconds / whole)).join(", ")
      },
      pieces.map(([name, text, seconds]) => {
        const piece = make("span", {
          class: "fill-" + name,
          "data-tip": text + ": " + textOfShare(seconds / whole) + ", " + textsOf.s(seconds) + " of all threads",
          "data-kind": "s",
          "data-value": seconds,
          "data-part": name
        });
        piece.style.width = 100 * seconds / whole + "%";
        return piece;
      }));
  return whole > 0 ?
      [bar, legend(pieces.map(([name, text, seconds]) => [name, text + " " + textOfShare(seconds / whole)]))] :
      [];
}

function overviewFigure(job) {
  const summary = job.summary, parts = timeParts(job);
  const program = (summary.program || "").split("/").pop() || "a program";
  const calls = callsOf(job), share = summary.mpi_share;
  return make(
      "section", {id: "overview", "data-figure": "overview"},
      make(
          "h1", {},
          program + " on " + textOfPairs(summary.world_size, "rank", "ranks") + (summary.selection ? ", a part" : "")),
      make(
          "p", {class: "note"},
          summary.mpi + " · " + summary.program + " · job " + summary.job +
              (summary.spawned ? " · spawned" + (summary.spawned_by ? " by job " + summary.spawned_by : "") : "")),
      notices(job), unended(job),
      make(
          "dl", {class: "tiles"},
          isAnew(job) ? tile("Run time", "s", null, "not known of a part") :
                        tile(
                            "Run time", "s", summary.run_seconds.max,
                            "the longest of any rank; mean " + textsOf.s(summary.run_seconds.mean)),
          isUntimed(job)  ? tile("In MPI", "share", null, "not known: no call was timed") :
              isAnew(job) ? tile("Time in MPI", "s", parts.mpi, "of all ranks and threads together") :
                            tile(
                                "In MPI", "share", share.mean,
                                "of a rank's time; " + textOfShare(share.min) + " (rank " + share.min_rank + ") to " +
                                    textOfShare(share.max) + " (rank " + share.max_rank + ")"),
          tile(
              "Stalled", "share", parts.stalled === null || !parts.mpi ? null : parts.stalled / parts.mpi,
              isUntimed(job)             ? "not known: no call was timed" :
                  parts.stalled === null ? "not known: the progress of MPI was not watched" :
                                           "of the time in MPI, nothing to do but wait"),
          tile(
              "MPI calls", "count", d3.sum(calls, (call) => call.count),
              textOfPairs(calls.length, "function", "functions")),
          tile("Messages sent", "count", commSum(job, "send_count"), textOfBytes(commSum(job, "send_bytes"))),
          tile("Messages received", "count", commSum(job, "recv_count"), textOfBytes(commSum(job, "recv_bytes"))),
          tile(
              "Collectives", "count", commSum(job, "coll_count"),
              "entered by a process; " + textOfBytes(commSum(job, "coll_bytes")) + " in and out"),
          tile("Threads in MPI", "count", summary.threads, "of all ranks"),
          commSum(job, "rma_bytes") ?
              tile("Remote memory", "bytes", commSum(job, "rma_bytes"), "read and written in windows") :
              null,
          commSum(job, "io_bytes") ? tile("Files", "bytes", commSum(job, "io_bytes"), "read and written by MPI") :
                                     null),
      isUntimed(job) ? [] : splitBar(parts),
      isUntimed(job) ?
          null :
          note(
              isAnew(job) ? "Of the time in these calls: at work, and stalled (waiting with nothing to do)." :
                  parts.whole === null ?
                            "Of the time in MPI: at work, and stalled (waiting with nothing to do). How much time " +
                      "there was outside of MPI is not known for jobs with several threads in MPI whose run " +
                      "files are gone." :
                            "Of the time of all threads that called MPI, from MPI_Init to MPI_Finalize. Stalled: " +
                      "waiting inside MPI with nothing to do."));
}
