/* What ran, how good it was, and where its time went. */

function tile(title, kind, value, small, bad) {
  return make(
      "div", {class: bad ? "tile bad" : "tile"}, make("dt", {}, title),
      figureOf("dd", kind, value, {"data-tile": title}), small ? make("small", {}, small) : null);
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
           part.from === "summary" ?
           "This run kept only its summary, which has only the times and messages sent of a rank." :
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
  const lost = Object.entries(summary.lost || {});
  if (lost.length)
    list.push(
        "Not recorded: " + lost.map(([cause, count]) => textOfCount(count) + " (" + cause + ")").join(", ") + ".");
  if (summary.filter === null)
    list.push("The processes had different filters: functions may be missing.");
  else if (summary.filter)
    list.push("Recorded with the filter " + summary.filter + ": other functions are missing.");
  if (summary.timing === null)
    list.push("Not all calls were timed (mpit_timing): times are too small.");
  else if (!summary.timing)
    list.push("No call was timed.");
  if (summary.off_seconds !== null && summary.off_seconds.max > 0)
    list.push(
        "The recording was off for up to " + textsOf.s(summary.off_seconds.max) +
        " of a rank (MPI_Pcontrol, mpit_recording).");
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

/* ---- what ran ---------------------------------------------------------------------------------------------------- */

function hostsText(job) {
  const hosts = job.summary.about ? job.summary.about.hosts : [];
  const some = hosts.slice(0, 8).map(
      (host) => (host.ranks && hosts.length > 1 ? textOfPairs(host.ranks, "rank", "ranks") + " on " : "") + host.name +
          (host.processors ? " (" + textOfPairs(host.processors, "processor", "processors") + ")" : ""));
  if (hosts.length > 8) some.push("and " + (hosts.length - 8) + " more hosts");
  return some.join(", ");
}

/* In the time zone of the reader. */
function whenText(iso) {
  const date = new Date(iso), two = (number) => String(number).padStart(2, "0");
  return Number.isNaN(date.getTime()) ?
      iso :
      date.getFullYear() + "-" + two(date.getMonth() + 1) + "-" + two(date.getDate()) + " " + two(date.getHours()) +
          ":" + two(date.getMinutes()) + ":" + two(date.getSeconds());
}

function aboutLines(job) {
  const summary = job.summary, about = summary.about || {}, origin = summary.origin || {}, lines = [];
  const add = (name, text) => text ? lines.push([name, text]) : null;
  add("Command", origin.command || summary.program);
  add("When",
      about.start ? whenText(about.start) +
              (origin.end_ns && origin.begin_ns ? ", recorded for " + textOfLong(origin.end_ns - origin.begin_ns) :
                                                  "") :
                    null);
  add("Hosts", hostsText(job));
  add("MPI", summary.mpi);
  add("User", about.user);
  add("Batch job", about.scheduler ? about.scheduler.name + " " + about.scheduler.id : null);
  add("Job",
      summary.job + (summary.spawned ? ", spawned" + (summary.spawned_by ? " by job " + summary.spawned_by : "") : ""));
  return make(
      "dl", {class: "about"}, lines.map(([name, text]) => make("div", {}, make("dt", {}, name), make("dd", {}, text))));
}

/* ---- efficiency -------------------------------------------------------------------------------------------------- */

const GOOD_EFFICIENCY = .8;

function factor(name, key, value) {
  const meter = make("span", {class: value < GOOD_EFFICIENCY ? "fill-stall" : "fill-work"});
  meter.style.width = 100 * Math.max(0, Math.min(1, value)) + "%";
  return make(
      "span", {class: "factor"}, figureOf("b", "share", value, {"data-efficiency": key}), make("small", {}, name),
      make("span", {class: "meter", "aria-hidden": "true"}, meter));
}

/* A product: the first factor = the second x the third. */
function product(efficiency, names) {
  const parts = Object.entries(names).map(([key, name]) => factor(name, key, efficiency[key]));
  return make(
      "div", {class: "product"}, parts.flatMap((part, i) => i ? [make("i", {}, i > 1 ? "×" : "="), part] : [part]));
}

function isKnown(efficiency, names) {
  return Object.keys(names).every((key) => efficiency[key] !== null && efficiency[key] !== undefined);
}

/* Parallel efficiency and its factors, as far as they are known. */
function efficiencyPart(job) {
  const is = job.summary.efficiency;
  if (!is || is.parallel === null || is.parallel === undefined) return null;
  const balance = {load_balance: "load balance", communication: "communication"};
  const threaded = is.openmp !== null && is.openmp !== undefined;
  const products = [
    ...threaded ?
        [
          {parallel: "parallel efficiency", mpi: "MPI", openmp: "OpenMP"},
          {openmp: "OpenMP", openmp_serial: "serial parts", openmp_balance: "balance", openmp_scheduling: "scheduling"},
          {mpi: "MPI", ...balance}
        ] :
        [{parallel: "parallel efficiency", ...balance}],
    {communication: "communication", serialization: "serialization", transfer: "transfer"}
  ];
  if (new Set((job.ranks.hosts || []).filter((host) => host)).size > 1)
    products.push(
        {load_balance: "load balance", load_balance_in_node: "in nodes", load_balance_between_nodes: "between nodes"});
  return make(
      "div", {class: "products", "data-figure-part": "efficiency"},
      products.filter((names) => isKnown(is, names)).map((names) => product(is, names)));
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

function timeTiles(job, parts) {
  const summary = job.summary, share = summary.mpi_share;
  const run = isAnew(job) ? tile("Run time", "s", null, "not known of a part") :
                            tile(
                                "Run time", "s", summary.run_seconds.max,
                                "the longest of the ranks; mean " + textsOf.s(summary.run_seconds.mean));
  const inside = isUntimed(job)      ? tile("In MPI", "share", null, "not known: no call was timed") :
      share === null && !isAnew(job) ? tile("In MPI", "share", null, "not known: recording was always off") :
      isAnew(job)                    ? tile("Time in MPI", "s", parts.mpi, "of all ranks and threads together") :
                                       tile(
                                           "In MPI", "share", share.mean,
                                           (wasOff(summary) ? "of the recorded time" : "of the run") + " (mean of ranks); " +
                                               textOfShare(share.min) + " (rank " + share.min_rank + ") to " + textOfShare(share.max) +
                                               " (rank " + share.max_rank + ")");
  const stalled = parts.stalled === null || !parts.mpi ? null : Math.min(1, parts.stalled / parts.mpi);
  return [
    run, inside,
    tile(
        "Stalled", "share", stalled,
        isUntimed(job)       ? "not known: no call was timed" :
            stalled === null ? "not known: the progress of MPI was not watched" :
                               "of that: nothing to do but wait",
        stalled > .5 && share && share.mean > .2)
  ];
}

function countTiles(job) {
  const calls = callsOf(job), sent = commSum(job, "send_count"), bytes = commSum(job, "send_bytes");
  const waits = job.analysis.waits;
  if (!job.summary.calls) return [];
  return [
    waits ? tile("Waits", "ns", d3.sum(waits, (wait) => wait.time_ns), "of all ranks for each other, in the trace") :
            null,
    tile("MPI calls", "count", d3.sum(calls, (call) => call.count), textOfPairs(calls.length, "function", "functions")),
    sent ? tile(
               "Messages sent", "count", sent,
               textOfBytes(bytes) + ", " + textOfBytes(Math.round(bytes / sent)) + " on average") :
           null,
    commSum(job, "coll_count") ? tile(
                                     "Collective calls", "count", commSum(job, "coll_count"),
                                     "of all ranks; " + textOfBytes(commSum(job, "coll_bytes")) + " in and out") :
                                 null,
    commSum(job, "rma_bytes") ?
        tile("Remote memory", "bytes", commSum(job, "rma_bytes"), "read and written in windows") :
        null,
    commSum(job, "io_bytes") ? tile("Files", "bytes", commSum(job, "io_bytes"), "read and written by MPI") : null
  ];
}

function splitNote(job, parts) {
  return note(
      isAnew(job) ?
          "Of the time in these calls: at work, and stalled (waiting with nothing to do)." :
          parts.whole === null ?
          "Of the time in MPI: at work, and stalled (waiting with nothing to do). The time outside of MPI is " +
              "not known." :
          (wasOff(job.summary) ? "Recorded time" : "Time") +
              " of all threads that called MPI, from MPI_Init to MPI_Finalize. Stalled: waiting inside MPI " +
              "with nothing to do.");
}

function overviewFigure(job) {
  const summary = job.summary, parts = timeParts(job);
  const program = (summary.program || "").split("/").pop() || "a program";
  return make(
      "section", {id: "overview", "data-figure": "overview"},
      make(
          "h1", {},
          program + " on " + textOfPairs(summary.world_size, "rank", "ranks") + (summary.selection ? ", a part" : "")),
      aboutLines(job), notices(job), unended(job), isUntimed(job) ? [] : splitBar(parts), efficiencyPart(job),
      make("dl", {class: "tiles"}, timeTiles(job, parts), countTiles(job)),
      isUntimed(job) ? null : splitNote(job, parts), job.summary.findings ? null : missingBox(job));
}
