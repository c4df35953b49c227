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

function timelineDraw(view) {
  const {timeline, rows, box, canvas} = view, margin = {left: 52, top: 16, bottom: 26};
  const width = Math.max(280, box.clientWidth), plot = width - margin.left - 8;
  const rowHeight = Math.max(1, Math.min(24, Math.floor(420 / rows.length))), gap = rowHeight >= 8 ? 2 : 0;
  const height = margin.top + rowHeight * rows.length + margin.bottom, context = canvasSize(canvas, width, height);
  const count = view.last - view.first + 1, columns = Math.min(count, Math.floor(plot));
  view.colours = STATES.map(([, name]) => colourOf(name));
  const blend = d3.interpolateLab(colourOf("out"), colourOf(view.mode === "stall" ? "stall" : "accent"));
  view.ramp = d3.range(256).map((i) => blend(i / 255));
  rampPut(view.rampBox, blend, "0 %", "100 % of a bin");
  rows.forEach((row, i) => {
    const y = margin.top + i * rowHeight;
    for (let column = 0; column < columns; column++) {
      const first = view.first + Math.floor(column * count / columns),
            last = view.first + Math.floor((column + 1) * count / columns) - 1;
      binsJoin(row, first, last);
      if (!joined.recorded) continue;
      const x = margin.left + Math.round(column * plot / columns),
            end = margin.left + Math.round((column + 1) * plot / columns);
      binDraw(view, context, x, y, end - x, rowHeight - gap);
    }
  });
  Object.assign(view, {
    margin,
    plot,
    rowHeight,
    x: d3.scaleLinear().domain([view.first * timeline.bin_ns, (view.last + 1) * timeline.bin_ns]).range([
      margin.left, margin.left + plot
    ])
  });
  timelineAxes(view, context, height);
  canvas.dataset.rows = rows.length;
  view.kept = canvasKeep(canvas);
}

/* The bin that the keys have reached, and the time that is being chosen. */
function timelineMark(view) {
  const context = canvasRestore(view.canvas, view.kept), {margin, rows, rowHeight, timeline} = view;
  if (view.drag) {
    context.fillStyle = colourOf("ink");
    context.globalAlpha = .15;
    context.fillRect(
        Math.min(...view.drag), margin.top, Math.abs(view.drag[1] - view.drag[0]), rowHeight * rows.length);
    context.globalAlpha = 1;
  }
  if (view.at) {
    context.strokeStyle = colourOf("ink");
    context.strokeRect(
        view.x(view.at.bin * timeline.bin_ns) - 1, margin.top + view.at.row * rowHeight,
        Math.max(3, view.plot / (view.last - view.first + 1)), Math.max(3, rowHeight));
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
  context.textBaseline = "top";
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
  return rowName(timeline, rowIndex) + ", " + textOfNs(bin * timeline.bin_ns) + " – " +
      textOfNs((bin + 1) * timeline.bin_ns) + "\n" + (joined.recorded ? lines.join("\n") : "nothing is known");
}

function zoomTo(view, first, last) {
  view.first = Math.max(0, Math.min(first, last));
  view.last = Math.min(view.timeline.bins - 1, Math.max(first, last));
  view.whole.hidden = view.first === 0 && view.last === view.timeline.bins - 1;
  timelineDraw(view);
}

/* Dragging chooses a time; the arrow keys go from bin to bin, + and - change how much is shown. */
function timelineListen(view) {
  const {canvas} = view;
  const binAt = (x) => Math.max(view.first, Math.min(view.last, Math.floor(view.x.invert(x) / view.timeline.bin_ns)));
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    view.drag = [event.offsetX, event.offsetX];
  });
  canvas.addEventListener("pointermove", (event) => {
    const row = Math.floor((event.offsetY - view.margin.top) / view.rowHeight);
    if (view.drag) {
      view.drag[1] = Math.max(view.margin.left, Math.min(view.margin.left + view.plot, event.offsetX));
      timelineMark(view);
    }
    if (row < 0 || row >= view.rows.length || event.offsetX < view.margin.left ||
        event.offsetX > view.margin.left + view.plot)
      return tipHide();
    tipShow(binText(view, row, binAt(event.offsetX)), event.clientX, event.clientY);
  });
  canvas.addEventListener("pointerup", () => {
    const drag = view.drag;
    view.drag = null;
    if (drag && Math.abs(drag[1] - drag[0]) > 4)
      zoomTo(view, binAt(Math.min(...drag)), binAt(Math.max(...drag)));
    else
      timelineMark(view);
  });
  canvas.addEventListener("pointerleave", tipHide);
  canvas.addEventListener("dblclick", () => zoomTo(view, 0, view.timeline.bins - 1));
  canvas.addEventListener("keydown", (event) => timelineKey(view, event));
  canvas.addEventListener("blur", () => {
    view.at = null;
    timelineMark(view);
  });
}

function timelineKey(view, event) {
  const step = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]}[event.key];
  const middle = view.at ? view.at.bin : (view.first + view.last) >> 1, count = view.last - view.first + 1;
  if (event.key === "Escape" || event.key === "Home") return zoomTo(view, 0, view.timeline.bins - 1);
  if (event.key === "+" && count > 8) return zoomTo(view, middle - (count >> 2), middle + (count >> 2));
  if (event.key === "-") return zoomTo(view, middle - count, middle + count);
  if (!step) return;
  event.preventDefault();
  const many = event.shiftKey ? 10 : 1, at = view.at || {row: 0, bin: view.first - 1};
  view.at = {
    row: Math.max(0, Math.min(view.rows.length - 1, at.row + step[0] * many)),
    bin: Math.max(view.first, Math.min(view.last, at.bin + step[1] * many))
  };
  timelineMark(view);
  const box = view.canvas.getBoundingClientRect();
  tipShow(
      binText(view, view.at.row, view.at.bin), box.left + view.x(view.at.bin * view.timeline.bin_ns),
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

function timelineView(timeline) {
  const view = {
    timeline,
    rows: timelineRows(timeline),
    mode: "states",
    first: 0,
    last: timeline.bins - 1,
    at: null,
    drag: null,
    box: make("div", {"data-plot": "timeline"}),
    rampBox: make("div", {class: "controls"}),
    whole:
        make("button", {type: "button", hidden: true, onclick: () => zoomTo(view, 0, timeline.bins - 1)}, "Whole run"),
    canvas: make("canvas", {
      tabindex: 0,
      role: "img",
      "aria-label":
          "States of the ranks over time; arrow keys go from bin to bin, plus and minus zoom, Escape shows all",
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
  const view = timelineView(timeline);
  const states = make("div", {}, legend(present.map(([, name, text]) => [name, text])));
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
      states, view.rampBox, view.box,
      note(
          "The run in " + textOfPairs(timeline.bins, "bin", "bins") + " of " + textOfNs(timeline.bin_ns) +
          ", from the begin of the first process, MPI_Init and MPI_Finalize included. A row is a " +
          "rank with all its threads. High rows show the states of a bin by their share, one above " +
          "the other. Low rows have the color of the largest share. The trace does not have the time " +
          "of a stall in its call, so a stall is drawn from its begin to the end of the call. Drag " +
          "to zoom in, double-click for all." + rowsNote(timeline)),
      timelineTable(timeline, present));
}
