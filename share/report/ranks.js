/* Time by rank, of all of MPI or of one function. */

/* Bars of a row, in seconds a rank: [class, text, seconds]. */
function rankBars(job, name, i) {
  const ranks = job.ranks, members = ranks.members[i];
  if (!members) return [];
  const stalls = ranks.stall_ns !== null;
  if (name === "") {
    const mpi = ranks.mpi_seconds[i] / members, stall = stalls ? ranks.stall_ns[i] / 1e9 / members : 0;
    return [
      ["stall", "stalled in MPI", Math.min(stall, mpi)],
      ["work", stalls ? "at work in MPI" : "in MPI", Math.max(0, mpi - stall)],
      ...isAnew(job) ? [] : [["out", "not in MPI", Math.max(0, ranks.thread_seconds[i] / members - mpi)]]
    ];
  }
  const called = ranks.functions.find((one) => one.name === name);
  const time = called.time_ns[i] / 1e9 / members, stall = stalls ? called.stall_ns[i] / 1e9 / members : 0;
  return [
    ["stall", "stalled", Math.min(stall, time)], ["work", stalls ? "at work" : "in " + name, Math.max(0, time - stall)]
  ];
}

function ranksDraw(job, name, box) {
  const ranks = job.ranks, width = Math.max(280, box.clientWidth), height = 250;
  const margin = {left: 56, right: 8, top: 22, bottom: 34};
  const rows = ranks.members.map((_, i) => rankBars(job, name, i));
  const most = d3.max(rows, (bars) => d3.sum(bars, (bar) => bar[2])) || 1;
  const right = width - margin.right, x = bandsOf(rows.length, margin.left, right);
  const y = d3.scaleLinear().domain([0, most]).nice(5).range([height - margin.bottom, margin.top]);
  const svg = make("svg:svg", {
    viewBox: `0 0 ${width} ${height}`,
    role: "group",
    "aria-label": "Time by rank",
    "shape-rendering": rows.length > 150 ? "crispEdges" : undefined
  });
  axisPut(
      svg, d3.axisLeft(y).ticks(5).tickSize(-(right - margin.left)).tickFormat((s) => tickOfNs(s * 1e9)), margin.left,
      0, true);
  const texts = rows.map(
      (bars, i) => rowName(ranks, i) + (ranks.hosts && ranks.hosts[i] ? " on " + ranks.hosts[i] : "") +
          (ranks.per_row > 1 ? ", mean" : "") +
          (bars.length ? "\n" + bars.map(([, kind, seconds]) => kind + " " + textsOf.s(seconds)).join("\n") :
               job.summary.selection ? "\nis not in this part" :
                                       "\nleft no file"));
  barsPut(svg, rows, texts, x, y, margin.top, height - margin.bottom);
  const inside = rows.map((bars) => d3.sum(bars, (bar) => bar[0] === "out" ? 0 : bar[2]));
  const mean = d3.sum(inside, (seconds, i) => seconds * ranks.members[i]) / d3.sum(ranks.members);
  svg.append(
      make("svg:line", {class: "mean", x1: margin.left, x2: right, y1: y(mean), y2: y(mean), "data-mean": mean}));
  const step = labelStep(rows.length, (width - margin.left) / 46);
  axisPut(
      svg,
      d3.axisBottom(x).tickValues(d3.range(0, rows.length, step)).tickFormat((i) => i * ranks.per_row).tickSizeOuter(0),
      0, height - margin.bottom);
  axisTitles(svg, "time", "rank", margin, right, height);
  box.replaceChildren(svg);
}

/* The numbers of the ranks. A figure that is not known has no column. */
function ranksTable(job) {
  const ranks = job.ranks, columns = [{
                             title: ranks.per_row > 1 ? "Ranks" : "Rank",
                             kind: "text",
                             class: "brief",
                             value: (i) => rowName(ranks, i).replace(/^ranks? /, "")
                           }];
  if (ranks.hosts) columns.push({title: "Host", kind: "text", value: (i) => ranks.hosts[i]});
  const add = (title, kind, key, list) =>
      list ? columns.push({title, kind, key, value: (i) => ranks.members[i] ? list[i] : null}) : null;
  add("Run time", "s", "run", ranks.run_seconds);
  if (!isUntimed(job)) {
    add("In MPI", "s", "mpi", ranks.mpi_seconds);
    add("Stalled", "ns", "stall", ranks.stall_ns);
  }
  add("Messages sent", "count", "send_count", ranks.send_count);
  add("Bytes sent", "bytes", "send_bytes", ranks.send_bytes);
  add("Messages received", "count", "recv_count", ranks.recv_count);
  add("Bytes received", "bytes", "recv_bytes", ranks.recv_bytes);
  add("Collectives", "count", "coll_count", ranks.coll_count);
  if (d3.max(ranks.memory_bytes)) add("Memory, most", "bytes", "memory_bytes", ranks.memory_bytes);
  return make(
      "details", {}, make("summary", {}, "The numbers" + (ranks.per_row > 1 ? ", sums of each group" : "")),
      table("ranks", columns, d3.range(ranks.members.length), 64));
}

/* A sentence about a chosen function, or all of MPI. */
function ranksSentence(job, name) {
  const ranks = job.ranks, spread = ranks.functions.find((one) => one.name === name);
  const most = d3.max(ranks.mpi_seconds.map((s, i) => ranks.members[i] ? s / ranks.members[i] : 0));
  const mean = d3.sum(ranks.mpi_seconds) / ranks.known;
  return (spread ? name + ": mean of all ranks " + textOfNs(spread.mean_ns) + ", most " + textOfNs(spread.max_ns) +
                  " on rank " + spread.max_rank + ", least " + textOfNs(spread.min_ns) + " on rank " + spread.min_rank +
                  "; balance " + (balanceOf(spread) || 0).toFixed(2) + ". " :
                   "In MPI: mean " + textsOf.s(mean) + ", most " + textsOf.s(most) + "; balance " +
                  (most ? mean / most : 0).toFixed(2) + ". ") +
      "The dashed line is the mean of the time in MPI. Times are sums over the threads of a rank" +
      (isAnew(job) ? ", of the selected calls" : ", from MPI_Init to MPI_Finalize") +
      (spread && !isAnew(job) ? ", which are included" : "") + "." + rowsNote(ranks);
}

function ranksHeading(job) {
  const share = job.summary.mpi_share, spent = job.summary.mpi_seconds;
  if (isAnew(job))
    return "Ranks spent " + textsOf.s(spent.min) + " (rank " + spent.min_rank + ") to " + textsOf.s(spent.max) +
        " (rank " + spent.max_rank + ") in the selected calls";
  if (share === null) return "Recording was always off";
  const of = wasOff(job.summary) ? " of the recorded time" : " of the run";
  if (job.summary.ranks === 1)
    return (job.summary.selection ? "Rank " + share.max_rank : "The only rank") + " is in MPI for " +
        textOfShare(share.mean) + of;
  return share.max - share.min < .02 ?
      "All ranks are in MPI for about the same share" + of + ", " + textOfShare(share.mean) :
      "Ranks are in MPI for " + textOfShare(share.min) + " (rank " + share.min_rank + ") to " + textOfShare(share.max) +
          " (rank " + share.max_rank + ")" + of;
}

/* The chart of the ranks' time. */
function ranksPart(job) {
  const ranks = job.ranks, box = make("div", {"data-plot": "ranks"});
  const told = make("p", {class: "note", "data-sentence": "ranks"});
  const order = [...ranks.functions].sort((a, b) => d3.sum(b.time_ns) - d3.sum(a.time_ns));
  let name = "";
  const redraw = drawn(() => {
    ranksDraw(job, name, box);
    told.textContent = ranksSentence(job, name);
  });
  return make(
      "div", {}, make("h3", {}, "Time"),
      order.length ? make(
                         "div", {class: "controls"},
                         selection(
                             "Show", [["", "all of MPI"], ...order.map((one) => [one.name, one.name])],
                             (value) => {
                               name = value;
                               redraw();
                             })) :
                     null,
      legend([
        ...isAnew(job) ? [] : [["out", "not in MPI"]], ["work", ranks.stall_ns === null ? "in MPI" : "at work in MPI"],
        ...ranks.stall_ns === null ? [] : [["stall", "stalled in MPI"]]
      ]),
      box, told);
}

function ranksFigure(job) {
  if (job.ranks.unknown !== undefined) return null;
  if (isUntimed(job))
    return figure(
        "ranks", "Ranks", "No call was timed", note("The time of the ranks in MPI is unknown (mpit_timing 0)."),
        ranksTable(job));
  const waits = waitersPart(job);
  return figure(
      "ranks", "Ranks", ranksHeading(job),
      waits ? make("div", {class: "columns"}, ranksPart(job), waits) : ranksPart(job), ranksTable(job),
      waits ? waitersTable(job.analysis.ranks) : null);
}
