/* What the ranks were doing over time, in bins. */

const STATES = [
  ["not_in_mpi", "out", "not in MPI"], ["p2p", "p2p", "messages"], ["completion", "completion", "completing requests"],
  ["collective", "collective", "collectives"], ["communicator", "communicator", "making communicators"],
  ["rma", "rma", "windows"], ["io", "io", "files"], ["process", "process", "MPI_Init, MPI_Finalize"],
  ["other", "other", "other calls"], ["stall", "stall", "stalled"]
];

/* "how many zeros before:base64" */
function sharesOf(text, bins) {
  if (text === undefined) return null;
  const [before, rest] = text.split(":"), shares = new Uint8Array(bins), bytes = atob(rest);
  for (let i = 0; i < bytes.length; i++) shares[Number(before) + i] = bytes.charCodeAt(i);
  return shares;
}

/* Bins first..last of a row together: {recorded, shares by state}, weighted by what is known of each bin. The next one
 * is put where this one was. */
const joined = {
  recorded: 0,
  shares: new Float64Array(STATES.length)
};

function binsJoin(row, first, last) {
  joined.shares.fill(0);
  joined.recorded = 0;
  for (let bin = first; bin <= last; bin++) {
    const recorded = row.recorded ? row.recorded[bin] : 0;
    joined.recorded += recorded;
    for (const [state, shares] of row.present) joined.shares[state] += shares[bin] * recorded / 255;
  }
  if (joined.recorded)
    for (const [state] of row.present) joined.shares[state] /= joined.recorded;
  joined.recorded /= 255 * (last - first + 1);
  return joined;
}

function timelineRows(timeline) {
  return timeline.rows.map((row) => ({
                             recorded: sharesOf(row.shares.recorded, timeline.bins),
                             present: STATES.map(([key], state) => [state, sharesOf(row.shares[key], timeline.bins)])
                                          .filter(([, shares]) => shares)
                           }));
}

/* How a bin of a row is shown: its states one above the other, or one colour where the row is too low for that. */
function binDraw(view, context, x, y, width, height) {
  if (view.mode !== "states") {
    const share = view.mode === "stall" ? joined.shares[STATES.length - 1] : 1 - joined.shares[0];
    context.fillStyle = view.ramp[Math.max(0, Math.min(255, Math.round(share * 255)))];
    return context.fillRect(x, y, width, height);
  }
  if (height < 8) {
    let largest = 0;
    for (let i = 1; i < STATES.length; i++)
      if (joined.shares[i] > joined.shares[largest]) largest = i;
    context.fillStyle = view.colours[largest];
    return context.fillRect(x, y, width, height);
  }
  let top = y + height;
  joined.shares.forEach((share, i) => {
    if (share <= 0) return;
    const part = share * height;
    top -= part;
    context.fillStyle = view.colours[i];
    context.fillRect(x, top, width, part);
  });
}

/* The states of a row in the bins of the window. */
function binsDraw(view, context, row, i) {
  const [first, last] = view.bins, {margin, plot, rowHeight, gap, timeline} = view;
  const count = last - first + 1, columns = Math.min(count, Math.floor(plot));
  for (let column = 0; column < columns; column++) {
    const begin = first + Math.floor(column * count / columns),
          end = first + Math.floor((column + 1) * count / columns) - 1;
    binsJoin(row, begin, end);
    if (!joined.recorded) continue;
    const x = Math.max(margin.left, Math.round(view.x(begin * timeline.bin_ns))),
          right = Math.min(margin.left + plot, Math.round(view.x((end + 1) * timeline.bin_ns)));
    if (right > x) binDraw(view, context, x, margin.top + i * rowHeight, right - x, rowHeight - gap);
  }
}

function timelineDraw(view) {
  const {timeline, rows, box, canvas} = view, margin = {left: 52, top: 16, bottom: 26};
  const width = Math.max(280, box.clientWidth), plot = width - margin.left - 8;
  const rowHeight = Math.max(1, Math.min(isZoomed(view) ? 36 : 24, Math.floor(420 / rows.length))),
        gap = rowHeight >= 8 ? Math.ceil(rowHeight / 9) : 0;
  const height = margin.top + rowHeight * rows.length + margin.bottom, context = canvasSize(canvas, width, height);
  Object.assign(view, {
    margin,
    plot,
    rowHeight,
    gap,
    x: d3.scaleLinear().domain([view.from, view.to]).range([margin.left, margin.left + plot]),
    bins: [
      Math.floor(view.from / timeline.bin_ns),
      Math.min(timeline.bins - 1, Math.max(0, Math.ceil(view.to / timeline.bin_ns) - 1))
    ]
  });
  view.colours = STATES.map(([, name]) => colourOf(name));
  view.paper = colourOf("paper");
  const blend = d3.interpolateLab(colourOf("out"), colourOf(view.mode === "stall" ? "stall" : "accent"));
  view.ramp = d3.range(256).map((i) => blend(i / 255));
  rampPut(view.rampBox, blend, "0 %", "100 % of a bin");
  const draw = hasCalls(view) ? callsDraw : binsDraw;
  canvas.dataset.names = 0;
  rows.forEach((row, i) => draw(view, context, row, i));
  pathDraw(view, context);
  view.told.textContent = view.hint + arrowsDraw(view, context);
  timelineAxes(view, context, height);
  Object.assign(canvas.dataset, {rows: rows.length, from: view.from, to: view.to});
  view.kept = canvasKeep(canvas);
}

/* The moment that the keys have reached, and the time that is being chosen. */
function timelineMark(view) {
  const context = canvasRestore(view.canvas, view.kept), {margin, rows, rowHeight} = view;
  if (view.drag) {
    context.fillStyle = colourOf("ink");
    context.globalAlpha = .15;
    context.fillRect(
        Math.min(...view.drag), margin.top, Math.abs(view.drag[1] - view.drag[0]), rowHeight * rows.length);
    context.globalAlpha = 1;
  }
  if (view.at) {
    context.strokeStyle = colourOf("ink");
    context.strokeRect(view.x(view.at.ns) - 1, margin.top + view.at.row * rowHeight, 3, Math.max(3, rowHeight));
  }
}

function timelineAxes(view, context, height) {
  const {margin, rows, rowHeight, timeline} = view;
  context.fillStyle = colourOf("dim");
  context.strokeStyle = colourOf("line");
  context.font = "11px system-ui, 'DejaVu Sans', sans-serif";
  context.textAlign = "right";
  context.textBaseline = "middle";
  const step = labelStep(rows.length, rows.length * rowHeight / 18);
  for (let i = 0; i < rows.length; i += step)
    context.fillText(i * timeline.per_row, margin.left - 6, margin.top + (i + .5) * rowHeight);
  context.textAlign = "left";
  context.textBaseline = "top";
  context.fillText("rank", 4, 0);
  for (const ns of view.x.ticks(Math.max(2, Math.floor(view.plot / 110)))) {
    const x = view.x(ns), text = tickOfNs(ns), half = context.measureText(text).width / 2;
    context.fillRect(Math.round(x), height - margin.bottom, 1, 5);
    context.textAlign = x + half > margin.left + view.plot + 8 ? "right" : "center";
    context.fillText(text, x, height - margin.bottom + 8);
  }
}

function binText(view, rowIndex, bin) {
  const {timeline, rows} = view;
  binsJoin(rows[rowIndex], bin, bin);
  const lines = STATES.map(([, , text], i) => [text, joined.shares[i]])
                    .filter(([, share]) => share >= .005)
                    .sort((a, b) => b[1] - a[1])
                    .map(([text, share]) => Math.round(share * 100) + " % " + text);
  return rowName(timeline, rowIndex) + ", " + textOfMoment(view, bin * timeline.bin_ns) + " – " +
      textOfMoment(view, (bin + 1) * timeline.bin_ns) + "\n" +
      (joined.recorded ? lines.join("\n") : "nothing is known");
}

/* A call if single ones are shown, else the states of the bin. */
function momentText(view, rowIndex, ns) {
  const bin = Math.max(0, Math.min(view.timeline.bins - 1, Math.floor(ns / view.timeline.bin_ns)));
  const row = view.rows[rowIndex];
  if (!hasCalls(view) || !row.recorded || !row.recorded[bin]) return binText(view, rowIndex, bin);
  const call = callAt(view, rowIndex, ns);
  return call ? callTold(view, call) :
                rowName(view.timeline, rowIndex) + ", " + textOfMoment(view, ns) + "\n" + betweenCalls(view, rowIndex, ns);
}

/* A window has a tenth of a bin at least: there, single calls are seen. */
function zoomTo(view, from, to) {
  const least = Math.max(100, view.timeline.bin_ns / 10), middle = (from + to) / 2;
  if (to - from < least) [from, to] = [middle - least / 2, middle + least / 2];
  view.from = Math.max(0, Math.min(from, view.end - least));
  view.to = Math.min(view.end, to);
  view.whole.hidden = !isZoomed(view);
  timelineDraw(view);
}

/* Dragging chooses a time; the arrow keys move a mark, + and - change how much is shown. */
function timelineListen(view) {
  const {canvas} = view;
  const momentAt = (x) => Math.max(view.from, Math.min(view.to, view.x.invert(x)));
  const rowAt = (event) => {
    const row = Math.floor((event.offsetY - view.margin.top) / view.rowHeight);
    return row < 0 || row >= view.rows.length || event.offsetX < view.margin.left ||
            event.offsetX > view.margin.left + view.plot ?
        -1 :
        row;
  };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    view.drag = [event.offsetX, event.offsetX];
  });
  canvas.addEventListener("pointermove", (event) => {
    if (view.drag) {
      view.drag[1] = Math.max(view.margin.left, Math.min(view.margin.left + view.plot, event.offsetX));
      timelineMark(view);
    }
    const row = rowAt(event);
    if (row < 0) return tipHide();
    tipShow(momentText(view, row, momentAt(event.offsetX)), event.clientX, event.clientY);
  });
  canvas.addEventListener("pointerup", (event) => {
    const drag = view.drag, row = rowAt(event);
    view.drag = null;
    if (drag && Math.abs(drag[1] - drag[0]) > 4)
      return zoomTo(view, momentAt(Math.min(...drag)), momentAt(Math.max(...drag)));
    if (row >= 0) {
      view.at = {row, ns: momentAt(event.offsetX)};
      callShow(view, row, view.at.ns);
    }
    timelineMark(view);
  });
  canvas.addEventListener("pointerleave", tipHide);
  canvas.addEventListener("dblclick", () => zoomTo(view, 0, view.end));
  canvas.addEventListener("keydown", (event) => timelineKey(view, event));
  canvas.addEventListener("blur", () => {
    view.at = null;
    timelineMark(view);
  });
}

function timelineKey(view, event) {
  const step = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]}[event.key];
  const middle = view.at ? view.at.ns : (view.from + view.to) / 2, length = view.to - view.from;
  if (event.key === "Escape" || event.key === "Home") return zoomTo(view, 0, view.end);
  if (event.key === "+") return zoomTo(view, middle - length / 4, middle + length / 4);
  if (event.key === "-") return zoomTo(view, middle - length, middle + length);
  if (event.key === "Enter" && view.at) return callShow(view, view.at.row, view.at.ns);
  if (!step) return;
  event.preventDefault();
  const many = event.shiftKey ? 10 : 1, at = view.at || {row: 0, ns: view.from};
  view.at = {
    row: Math.max(0, Math.min(view.rows.length - 1, at.row + step[0] * many)),
    ns: Math.max(view.from, Math.min(view.to, at.ns + step[1] * many * length / 200))
  };
  timelineMark(view);
  const box = view.canvas.getBoundingClientRect();
  tipShow(
      momentText(view, view.at.row, view.at.ns), box.left + view.x(view.at.ns),
      box.top + view.margin.top + (view.at.row + 1) * view.rowHeight);
}

function timelineTable(timeline, present) {
  const columns = [{
    title: timeline.per_row > 1 ? "Ranks" : "Rank",
    kind: "text",
    class: "brief",
    value: (row) => rowName(timeline, row.rank / timeline.per_row).replace(/^ranks? /, "")
  }];
  for (const [key, , text] of present)
    columns.push({title: text, kind: "ns", key, value: (row) => row.totals_ns[key] || 0});
  columns.push({title: "known", kind: "ns", key: "recorded", value: (row) => row.totals_ns.recorded || 0});
  return make(
      "details", {}, make("summary", {}, "The numbers: time of each rank in each state"),
      table("timeline", columns, timeline.rows, 64));
}

function timelineView(job) {
  const {timeline} = job, end = timeline.bins * timeline.bin_ns;
  const view = {
    timeline,
    rows: timelineRows(timeline),
    calls: callsByRow(timeline),
    arrows: arrowsOf(job, timeline),
    path: job.analysis.drawn_path || [],
    single: job.summary.threads === job.summary.ranks,
    mode: "states",
    end,
    from: 0,
    to: end,
    at: null,
    drag: null,
    hint: callsNote(job, timeline),
    box: make("div", {"data-plot": "timeline"}),
    panel: make("div", {"aria-live": "polite"}),
    told: make("p", {class: "note", "data-sentence": "timeline"}),
    rampBox: make("div", {class: "controls"}),
    whole: make("button", {type: "button", hidden: true, onclick: () => zoomTo(view, 0, end)}, "Whole run"),
    canvas: make("canvas", {
      tabindex: 0,
      role: "img",
      "aria-label":
          "States of the ranks over time; arrow keys move a mark, Enter shows the call there, plus and minus zoom, " +
          "Escape shows all",
    }),
  };
  view.box.append(view.canvas);
  timelineListen(view);
  return view;
}

function timelineFigure(job) {
  const timeline = job.timeline;
  if (timeline.unknown !== undefined) return null;
  const total = (key) => d3.sum(timeline.rows, (row) => row.totals_ns[key] || 0);
  const present = STATES.filter(([key]) => total(key) > 0);
  const view = job.view = timelineView(job);
  const states = make(
      "div", {},
      legend([...present.map(([, name, text]) => [name, text]), ...(view.path.length ? [["path", "critical path"]] : [])]));
  view.rampBox.hidden = true;
  const shown = job.summary.selection ? view.rows.filter((row) => row.recorded) : view.rows;
  const kept = d3.mean(shown, (row) => row.recorded ? d3.sum(row.recorded) / 255 / timeline.bins : 0);
  drawn(() => timelineDraw(view));
  return figure(
      "timeline", "Timeline",
      kept < .95 ? "States of the ranks over time; the trace has " + textOfShare(kept) + " of the run" :
                   "States of the ranks over time",
      make(
          "div", {class: "controls"},
          choice(
              "Show", [["states", "States"], ["mpi", "Share in MPI"], ["stall", "Share stalled"]], "states",
              (mode) => {
                view.mode = mode;
                states.hidden = mode !== "states";
                view.rampBox.hidden = mode === "states";
                timelineDraw(view);
              }),
          view.whole),
      states, view.rampBox, view.box, view.panel, view.told,
      note(
          "The run in " + textOfPairs(timeline.bins, "bin", "bins") + " of " + textOfNs(timeline.bin_ns) +
          ", from the begin of the first process, MPI_Init and MPI_Finalize included. A row is a " +
          "rank with all its threads. High rows show the states of a bin by their share, one above " +
          "the other. Low rows have the color of the largest share. The trace does not have the time " +
          "of a stall in its call, so a stall is drawn from its begin to the end of the call. Drag " +
          "to zoom in, double-click to see all." + rowsNote(timeline)),
      timelineTable(timeline, present));
}
