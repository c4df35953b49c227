/* Who sent how much to whom, as a heat map. */

function pairsOf(matrix) {
  const list = [];
  for (const [from, ...rest] of matrix.pairs)
    for (let i = 0, to = 0; i < rest.length; i += 3) {
      to += rest[i];
      list.push({from, to, messages: rest[i + 1], bytes: rest[i + 2]});
    }
  return list;
}

/* Zero lies outside of the scale: a pair that exchanged nothing has no colour. */
function heatColour(pairs, key) {
  const values = pairs.map((pair) => pair[key]).filter((value) => value > 0);
  const [least, most] = [d3.min(values) || 1, d3.max(values) || 1];
  const blend = d3.interpolateLab(colourOf("low"), colourOf("high"));
  const wide = most / least > 20;
  const scale = (wide ? d3.scaleLog() : d3.scaleLinear()).domain(wide ? [least, most] : [0, most]).range([0, 1]);
  return {least, most, wide, of: (value) => value > 0 ? blend(scale(value)) : colourOf("none")};
}

function matrixDraw(view) {
  const {box, canvas, pairs, rows} = view, margin = {left: 56, top: 40};
  const side = Math.max(200, Math.min(box.clientWidth - margin.left - 6, 520, Math.max(200, 90 * rows))),
        cell = side / rows;
  const context = canvasSize(canvas, side + margin.left + 6, side + margin.top + 6),
        colour = heatColour(pairs, view.key);
  context.fillStyle = colourOf("none");
  context.fillRect(margin.left, margin.top, side, side);
  const gap = cell > 7 ? 1 : 0;
  for (const pair of pairs) {
    if (!pair[view.key]) continue;
    context.fillStyle = colour.of(pair[view.key]);
    context.fillRect(
        margin.left + pair.to * cell, margin.top + pair.from * cell, Math.max(cell - gap, 1.5),
        Math.max(cell - gap, 1.5));
  }
  context.fillStyle = colourOf("dim");
  context.font = "11px system-ui, 'DejaVu Sans', sans-serif";
  const step = labelStep(rows, side / 42);
  for (let i = 0; i < rows; i += step) {
    context.textAlign = "right";
    context.textBaseline = "middle";
    context.fillText(i * view.matrix.per_row, margin.left - 5, margin.top + (i + .5) * cell);
    context.textAlign = "center";
    context.textBaseline = "bottom";
    context.fillText(i * view.matrix.per_row, margin.left + (i + .5) * cell, margin.top - 3);
  }
  matrixTitles(context, margin, side);
  Object.assign(view, {cell, margin, side, kept: canvasKeep(canvas)});
  canvas.dataset.cells = pairs.filter((pair) => pair[view.key] > 0).length;
  heatLegend(view.scaleBox, colour, view.key);
}

function matrixTitles(context, margin, side) {
  context.textAlign = "center";
  context.textBaseline = "top";
  context.fillText("receiver", margin.left + side / 2, 2);
  context.save();
  context.translate(2, margin.top + side / 2);
  context.rotate(-Math.PI / 2);
  context.fillText("sender", 0, 0);
  context.restore();
}

function matrixMark(view) {
  const context = canvasRestore(view.canvas, view.kept), {at, cell, margin} = view;
  if (!at) return;
  context.strokeStyle = colourOf("ink");
  context.lineWidth = 1.5;
  context.strokeRect(margin.left + at.to * cell, margin.top + at.from * cell, Math.max(cell, 3), Math.max(cell, 3));
}

function heatLegend(box, colour, key) {
  const text = key === "bytes" ? textOfBytes : textOfCount;
  const valueAt = (part) => colour.wide ? colour.least * Math.pow(colour.most / colour.least, part) :
                                          colour.least + (colour.most - colour.least) * part;
  rampPut(
      box, (part) => colour.of(valueAt(part)), text(colour.least),
      text(colour.most) + (colour.wide ? ", logarithmic" : ""));
}

function pairText(view, from, to) {
  const pair = view.byPlace.get(from * view.rows + to);
  return rowName(view.matrix, from) + " to " + rowName(view.matrix, to) + "\n" +
      (pair ? textOfPairs(pair.messages, "message", "messages") + "\n" + exactly("bytes", pair.bytes) : "nothing");
}

/* The pointer, and the arrow keys while the map has the focus. */
function matrixListen(view) {
  const {canvas} = view;
  canvas.addEventListener("pointermove", (event) => {
    const from = Math.floor((event.offsetY - view.margin.top) / view.cell),
          to = Math.floor((event.offsetX - view.margin.left) / view.cell);
    if (from < 0 || to < 0 || from >= view.rows || to >= view.rows) return tipHide();
    tipShow(pairText(view, from, to), event.clientX, event.clientY);
  });
  canvas.addEventListener("pointerleave", tipHide);
  canvas.addEventListener("keydown", (event) => {
    const step = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]}[event.key];
    if (!step) return;
    event.preventDefault();
    const bound = (value) => Math.max(0, Math.min(view.rows - 1, value));
    view.at = view.at ? {from: bound(view.at.from + step[0]), to: bound(view.at.to + step[1])} : {from: 0, to: 0};
    matrixMark(view);
    const box = canvas.getBoundingClientRect();
    tipShow(
        pairText(view, view.at.from, view.at.to), box.left + view.margin.left + (view.at.to + 1) * view.cell,
        box.top + view.margin.top + (view.at.from + 1) * view.cell);
  });
  canvas.addEventListener("blur", () => {
    view.at = null;
    matrixMark(view);
  });
}

function pairsTable(matrix, pairs) {
  const largest = [...pairs].sort((a, b) => b.bytes - a.bytes || b.messages - a.messages).slice(0, 200);
  const name = (i) => rowName(matrix, i).replace(/^ranks? /, "");
  const rest = pairs.length - largest.length;
  const columns = [
    {title: "From", kind: "text", class: "brief", value: (pair) => name(pair.from)},
    {title: "To", kind: "text", class: "brief", value: (pair) => name(pair.to)},
    {title: "Messages", kind: "count", key: "messages", value: (pair) => pair.messages},
    {title: "Bytes", kind: "bytes", key: "bytes", value: (pair) => pair.bytes}, {
      title: "A message",
      kind: "bytes",
      key: "mean",
      value: (pair) => pair.messages ? Math.round(pair.bytes / pair.messages) : null
    }
  ];
  return make(
      "div", {}, make("h3", {}, "Pairs with most bytes"), table("pairs", columns, largest, 12),
      rest ? note("The largest 200 of " + textOfCount(pairs.length) + " pairs.") : null);
}

function matrixFigure(job) {
  const matrix = job.matrix;
  if (matrix.unknown !== undefined) return null;
  const pairs = pairsOf(matrix), rows = Math.ceil(matrix.ranks / matrix.per_row);
  const unplaced = matrix.unplaced_messages ?
      " " + textOfPairs(matrix.unplaced_messages, "message", "messages") + " (" + textOfBytes(matrix.unplaced_bytes) +
          ") are missing: their communicators were freed and merged, or have unknown members." :
      "";
  const totals = [
    figureOf("span", "count", matrix.messages, {"data-total": "messages"}), " messages, ",
    figureOf("span", "bytes", matrix.bytes, {"data-total": "bytes"})
  ];
  if (!pairs.length)
    return figure(
        "matrix", "Messages by pair",
        commSum(job, "recv_count") ? "Only received messages were recorded" : noMessages(job),
        make("p", {class: "note"}, totals, "." + unplaced));
  const view = {
    matrix,
    pairs,
    rows,
    key: "bytes",
    box: make("div", {"data-plot": "matrix"}),
    scaleBox: make("span", {}),
    canvas: make("canvas", {
      tabindex: 0,
      role: "img",
      "aria-label":
          "Heat map: senders from top to bottom, receivers from left to right; arrow keys go from pair to pair"
    }),
    byPlace: new Map(pairs.map((pair) => [pair.from * rows + pair.to, pair]))
  };
  view.box.append(view.canvas);
  matrixListen(view);
  drawn(() => matrixDraw(view));
  const others = pairs.filter((pair) => pair.from !== pair.to).length, partners = others / matrix.pairs.length;
  return figure(
      "matrix", "Messages by pair",
      matrix.per_row > 1 ? "Who sent how much to whom, in groups of " + matrix.per_row + " ranks" :
          rows > 1 && others === rows * (rows - 1) ?
                           "Every rank sends to every other" :
                           "A rank that sends has " + (Number.isInteger(partners) ? partners : partners.toFixed(1)) +
              (partners === 1 ? " partner" : " partners") + " on average",
      make(
          "div", {class: "controls"},
          choice(
              "Show", [["bytes", "Bytes"], ["messages", "Messages"]], "bytes",
              (key) => {
                view.key = key;
                matrixDraw(view);
              }),
          view.scaleBox),
      make("div", {class: "matrix-and-pairs"}, view.box, pairsTable(matrix, pairs)),
      make(
          "p", {class: "note"}, "Rows are senders, columns receivers, by their rank in MPI_COMM_WORLD: ", totals,
          " of point-to-point traffic on all communicators, counted where they were sent; " +
              "collectives are not included." + unplaced + rowsNote(matrix)));
}

/* Messages inside nodes and between them. */
function nodesFigure(job) {
  const {placement, node_traffic: traffic} = job.summary;
  if (!placement || !traffic.length) return null;
  const columns = [
    {title: "From", kind: "text", class: "brief", value: (link) => link.from},
    {title: "To", kind: "text", class: "brief", value: (link) => link.to},
    {title: "Messages", kind: "count", key: "messages", value: (link) => link.messages},
    {title: "Bytes", kind: "bytes", key: "bytes", value: (link) => link.bytes}
  ];
  const better = placement.better_between_bytes, gain = placement.gain_seconds;
  const order = better === null ? ["No order of the ranks was found that saves a tenth of the bytes between nodes."] : [
    "A better order of the ranks has ", figureOf("span", "bytes", better, {"data-total": "better"}),
    " between nodes (mpit-dump --export placement). ",
    gain === null ? "What it gains is not known: " + placement.gain_unknown + "." :
                    "By a replay the run is " + textOfNs(1e9 * gain) + " shorter with it."
  ];
  return figure(
      "nodes", "Messages by node",
      textOfShare(placement.between_bytes / (placement.inside_bytes + placement.between_bytes || 1)) +
          " of the bytes go between nodes",
      table("nodes", columns, [...traffic].sort((a, b) => b.bytes - a.bytes), 12),
      make(
          "p", {class: "note"}, "Inside nodes ",
          figureOf("span", "bytes", placement.inside_bytes, {"data-total": "inside"}), ", between nodes ",
          figureOf("span", "bytes", placement.between_bytes, {"data-total": "between"}),
          ", without collectives and windows. ", ...order));
}
