/* Single calls and messages in the timeline, when it is zoomed in. The page has a bounded number of each (report.md).
 */

const ARROWS_MOST = 400;

/* The calls of each row, by their begin. */
function callsByRow(timeline) {
  const rows = timeline.rows.map(() => []), {functions, callsites, list} = timeline.calls;
  for (const [rank, thread, begin, ns, stall, kind, place] of list)
    rows[Math.floor(rank / timeline.per_row)].push({
      rank,
      thread,
      begin,
      end: begin + ns,
      stall: Math.min(stall, ns),
      name: functions[kind].name,
      state: STATES.findIndex(([key]) => key === functions[kind].class),
      site: place === null ? null : callsites[place]
    });
  for (const row of rows) row.sort((a, b) => a.begin - b.begin);
  return rows;
}

function arrowsOf(job, timeline) {
  const drawn_messages = job.analysis.drawn_messages;
  return (drawn_messages ? drawn_messages.list : [])
      .map(([from, to, sent, received, bytes, waited]) => ({
             from: Math.floor(from / timeline.per_row),
             to: Math.floor(to / timeline.per_row),
             sent,
             received,
             bytes,
             waited
           }))
      .sort((a, b) => b.waited - a.waited || (b.received - b.sent) - (a.received - a.sent));
}

function isZoomed(view) {
  return view.from > 0 || view.to < view.end;
}

/* Bins give way to calls if a row is one thread, and if no call is missing that could be seen. */
function hasCalls(view) {
  const {calls} = view.timeline, pixel = (view.to - view.from) / view.plot;
  return isZoomed(view) && view.mode === "states" && view.single && view.timeline.per_row === 1 &&
      (calls.count === calls.list.length || calls.shortest_ns < pixel);
}

/* A call has the color of its class; the stalled part of its time is the lower part of its height. */
function callDraw(view, context, call, y, height) {
  const left = Math.max(view.x(call.begin), view.margin.left),
        right = Math.min(view.x(call.end), view.margin.left + view.plot), width = Math.max(.7, right - left);
  const stalled = call.end > call.begin ? height * call.stall / (call.end - call.begin) : 0;
  context.fillStyle = view.colours[call.state];
  context.fillRect(left, y, width, height - stalled);
  context.fillStyle = view.colours[STATES.length - 1];
  context.fillRect(left, y + height - stalled, width, stalled);
  if (width > 5) {
    context.fillStyle = view.paper;
    context.fillRect(left, y, .6, height);
  }
  if (width > 30 && height > 12) nameDraw(view, context, call.name.replace(/^MPI_/, ""), left, y + height / 2, width);
}

/* The name of a call in its bar, if there is room. */
function nameDraw(view, context, name, left, middle, width) {
  context.font = "11px system-ui, 'DejaVu Sans', sans-serif";
  const room = context.measureText(name).width;
  if (room > width - 8) return;
  context.fillStyle = colourOf("on-fill");
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.fillText(name, left + 4, middle);
  view.canvas.dataset.names = Number(view.canvas.dataset.names) + 1;
}

/* The critical path: the rank that it is on, over time. */
function pathDraw(view, context) {
  view.canvas.dataset.path = view.path.length;
  if (!view.path.length || view.mode !== "states") return;
  const middle = (rank) =>
      view.margin.top + Math.floor(rank / view.timeline.per_row) * view.rowHeight + (view.rowHeight - view.gap) / 2;
  context.save();
  context.beginPath();
  context.rect(view.margin.left, view.margin.top, view.plot, view.rowHeight * view.rows.length);
  context.clip();
  context.beginPath();
  for (const [rank, from, to] of view.path) {
    context.lineTo(view.x(from), middle(rank));
    context.lineTo(view.x(to), middle(rank));
  }
  context.lineJoin = "round";
  for (const [colour, width] of [["paper", 4], ["path", 2]]) {
    context.strokeStyle = colourOf(colour);
    context.lineWidth = width;
    context.stroke();
  }
  context.restore();
}

/* The longest call that a finding is about: where ranks wait, or around the computation that is the cause. */
function callOfFinding(job, finding) {
  const {calls} = job.timeline;
  if (!calls) return null;
  for (const {places} of [finding.symptom, finding.cause]) {
    const wanted = calls.callsites.map((site) => places.some((place) => isAt(site, place)));
    const there = calls.list.filter((call) => wanted[call[6]]);
    if (there.length) return there.reduce((a, b) => b[3] > a[3] ? b : a);
  }
  return null;
}

function findingShow(job, [rank, , begin, ns]) {
  const {view} = job, row = Math.floor(rank / view.timeline.per_row);
  document.getElementById("timeline").scrollIntoView();
  zoomTo(view, begin - 2 * ns, begin + 2 * ns);
  view.at = {row, ns: begin};
  callShow(view, row, begin + ns / 2);
  timelineMark(view);
}

/* What a rank does between two calls, if the page has all calls. */
function betweenCalls(view, rowIndex, ns) {
  const {count, list} = view.timeline.calls, calls = view.calls[rowIndex];
  const next = calls.findIndex((call) => call.begin > ns), before = calls[next - 1], after = calls[next];
  if (next < 1 || count !== list.length) return "not in MPI";
  const line = (call) => call.name + (call.site ? " at " + placeText(call.site) : "");
  return "not in MPI for " + textOfNs(after.begin - before.end) + "\nafter " + line(before) + "\nbefore " + line(after);
}

/* The calls of a row in the window, over the time that the trace knows. */
function callsDraw(view, context, row, i) {
  const y = view.margin.top + i * view.rowHeight, height = view.rowHeight - view.gap;
  const [first, last] = view.bins;
  context.fillStyle = view.colours[0];
  for (let bin = first; bin <= last; bin++) {
    if (!row.recorded || !row.recorded[bin]) continue;
    const left = Math.max(view.margin.left, view.x(bin * view.timeline.bin_ns)),
          right = Math.min(view.margin.left + view.plot, view.x((bin + 1) * view.timeline.bin_ns));
    context.fillRect(left, y, right - left + .5, height);
  }
  for (const call of view.calls[i])
    if (call.end > view.from && call.begin < view.to) callDraw(view, context, call, y, height);
}

function arrowDraw(view, context, arrow) {
  const middle = (row) => view.margin.top + row * view.rowHeight + (view.rowHeight - view.gap) / 2;
  const [x, y, endX, endY] = [view.x(arrow.sent), middle(arrow.from), view.x(arrow.received), middle(arrow.to)];
  context.globalAlpha = arrow.waited ? 1 : .55;
  context.lineWidth = arrow.waited ? 1.4 : .8;
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(endX, endY);
  context.stroke();
  context.beginPath();
  context.arc(endX, endY, 1.8, 0, 7);
  context.fill();
}

/* The messages with the longest waits first, up to a bound. Returns a sentence about them. */
function arrowsDraw(view, context) {
  view.canvas.dataset.arrows = 0;
  if (!isZoomed(view) || !view.arrows.length) return "";
  const there =
      view.arrows.filter((arrow) => arrow.received > view.from && arrow.sent < view.to && arrow.from !== arrow.to);
  context.save();
  context.beginPath();
  context.rect(view.margin.left, view.margin.top, view.plot, view.rowHeight * view.rows.length);
  context.clip();
  context.strokeStyle = context.fillStyle = colourOf("ink");
  for (const arrow of there.slice(0, ARROWS_MOST)) arrowDraw(view, context, arrow);
  context.restore();
  view.canvas.dataset.arrows = Math.min(there.length, ARROWS_MOST);
  return " Lines are messages from sender to receiver" +
      (there.length > ARROWS_MOST ? ", here the " + ARROWS_MOST + " with the longest waits" : "") + ".";
}

/* How many calls and messages the page has, and how to see them. */
function callsNote(job, timeline) {
  const {calls} = timeline, messages = job.analysis.drawn_messages;
  const some = (kept, all, what, which) => kept === all ?
      "all " + textOfCount(all) + " " + what :
      textOfCount(kept) + " of " + textOfCount(all) + " " + what + " (" + which + ")";
  return "Zoom in to see single calls and messages. Click on a call to see its callers. The page has " +
      some(calls.list.length, calls.count, "calls", "the longest") +
      (messages ? " and " +
               some(messages.list.length, messages.count, "messages", "the longest waits, and a sample of the others") :
                  "") +
      ".";
}

/* The call of a row at a time. If there is none, the longest within two pixels. */
function callAt(view, rowIndex, ns) {
  const slack = 2 * (view.to - view.from) / view.plot, longest = (a, b) => b.end - b.begin > a.end - a.begin ? b : a;
  const near = view.calls[rowIndex].filter((call) => call.begin - slack <= ns && ns <= call.end + slack);
  const there = near.filter((call) => call.begin <= ns && ns <= call.end);
  return there.length ? there.reduce(longest) : near.length ? near.reduce(longest) : null;
}

/* A time of the run, as exact as the window needs. */
function textOfMoment(view, ns) {
  const digits = Math.ceil(3 - Math.log10((view.to - view.from) / 1e9));
  return (ns / 1e9).toFixed(Math.max(0, Math.min(9, digits))) + " s";
}

function callTold(view, call) {
  return call.name + " on rank " + call.rank + "\n" + textOfMoment(view, call.begin) + " \u2013 " +
      textOfMoment(view, call.end) + ", " + exactly("ns", call.end - call.begin) +
      (call.stall ? "\nstalled " + textOfNs(call.stall) : "") + (call.site ? "\n" + placeText(call.site) : "");
}

/* Shows a call with its callers below the timeline. */
function callShow(view, rowIndex, ns) {
  const call = callAt(view, rowIndex, ns), {calls} = view.timeline;
  if (!call)
    return view.panel.replaceChildren(note(
        calls.count === calls.list.length ? "There is no call." :
                                            "There is no call, or it is not one of the longest."));
  view.panel.replaceChildren(make(
      "div", {class: "lacks", "data-call": call.name},
      make(
          "p", {}, make("b", {}, call.name), " on rank " + call.rank + " at " + textOfMoment(view, call.begin) + ": ",
          figureOf("span", "ns", call.end - call.begin, {"data-call-time": ""}), ", stalled ",
          figureOf("span", "ns", call.stall, {})),
      call.site ? pathList(call.site) : note("Its place in the program is not known.")));
}
