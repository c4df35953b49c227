/* Paths as a flame graph: callers above, width is time. */

const FLAME_ROW = 19, FLAME_STATES = [["work", "at work in MPI"], ["stall", "stalled in MPI"]];

function flameClass(name) {
  return {mpi: "work", recorder: "recorder", unknown: "unknown"}[name.kind] || "out";
}

/* Boxes with their place in the whole: {depth, from, ns, name, fill}. Children begin at the left end of their caller.
 * The states of MPI functions are boxes, too. */
function flameBoxes({names, nodes, ns: whole}) {
  const boxes = [{depth: 0, from: 0, ns: whole, name: "all", module: "", fill: "out"}];
  const next = [0]; /* where the next box of each depth begins */
  for (const [depth, number, ns, work, stall] of nodes) {
    const name = names[number], from = next[depth] || 0;
    boxes.push({depth: depth + 1, from, ns, name: name.name || "?", module: name.module || "", fill: flameClass(name)});
    next[depth] = from + ns;
    next[depth + 1] = from;
    for (const [state, stateNs] of [["work", work], ["stall", stall]])
      if (stateNs) {
        boxes.push({
          depth: depth + 2,
          from: next[depth + 1],
          ns: stateNs,
          name: "[" + FLAME_STATES.find(([key]) => key === state)[1] + "]",
          module: "",
          fill: state
        });
        next[depth + 1] += stateNs;
      }
  }
  return boxes;
}

function flameTold(view, box) {
  return box.name + (box.module ? " [" + baseName(box.module) + "]" : "") + "\n" + exactly("ns", box.ns) + ", " +
      textOfShare(box.ns / view.boxes[0].ns) + " of " + view.what;
}

/* The boxes below the chosen one over the whole width, and its callers above it. */
function flameDraw(view) {
  const width = Math.max(280, view.box.clientWidth), {chosen} = view;
  const x = d3.scaleLinear().domain([chosen.from, chosen.from + chosen.ns]).range([0, width]);
  const seen = view.boxes.filter(
      (box) => box.from < chosen.from + chosen.ns && box.from + box.ns > chosen.from &&
          (box.depth >= chosen.depth || box.from + box.ns >= chosen.from + chosen.ns) &&
          x(box.from + box.ns) - x(box.from) > .4);
  const height = (d3.max(seen, (box) => box.depth) + 1) * FLAME_ROW;
  const svg =
      make("svg:svg", {viewBox: `0 0 ${width} ${height}`, class: "flame", role: "group", "aria-label": "Flame graph"});
  for (const box of seen) {
    const left = Math.max(0, x(box.from)), right = Math.min(width, x(box.from + box.ns)), y = box.depth * FLAME_ROW;
    const letters = Math.floor((right - left - 8) / 6.4), told = flameTold(view, box);
    svg.append(make("svg:rect", {
      class: "fill-" + box.fill,
      x: left,
      y,
      width: right - left,
      height: FLAME_ROW - 1,
      opacity: box.depth < chosen.depth ? .5 : undefined,
      tabindex: right - left > 24 ? 0 : undefined,
      role: "img",
      "data-tip": told,
      "aria-label": told,
      "data-flame": box.name,
      "data-ns": box.ns,
      onclick: () => flameChoose(view, box),
      onkeydown: (event) => event.key === "Enter" ? flameChoose(view, box) :
          event.key === "Escape"                  ? flameChoose(view, view.boxes[0]) :
                                                    null
    }));
    if (letters > 2)
      svg.append(make(
          "svg:text", {x: left + 4, y: y + 13},
          box.name.length > letters ? box.name.slice(0, letters - 1) + "\u2026" : box.name));
  }
  view.box.replaceChildren(svg);
  view.box.dataset.chosen = chosen.name;
  view.whole_button.hidden = chosen === view.boxes[0];
}

function flameChoose(view, box) {
  tipHide();
  view.chosen = box;
  flameDraw(view);
}

/* `flame` has {names, nodes: [[depth, name, ns, work, stall], ...] from above, ns of all}. */
function flamePart(name, heading, what, flame) {
  if (!flame || !flame.nodes.length || !flame.ns) return null;
  const boxes = flameBoxes(flame);
  const view = {
    boxes,
    what,
    chosen: boxes[0],
    box: make("div", {"data-plot": name}),
    whole_button: make("button", {type: "button", hidden: true, onclick: () => flameChoose(view, boxes[0])}, "All")
  };
  drawn(() => flameDraw(view));
  return make(
      "div", {}, make("h3", {}, heading),
      make("div", {class: "controls"}, "Click on a function to zoom in.", view.whole_button), view.box);
}

/* MPI time of the call sites, by the functions on their paths. */
function sitesFlame(sites) {
  const names = [], numbers = new Map(), nodes = [], root = {ns: 0, below: new Map()};
  const numberOf = (name, kind) => {
    if (!numbers.has(name)) numbers.set(name, names.push({name, kind}) - 1);
    return numbers.get(name);
  };
  const grow = (node, name, kind, ns) => {
    const number = numberOf(name, kind);
    if (!node.below.has(number)) node.below.set(number, {number, ns: 0, work: 0, stall: 0, below: new Map()});
    const child = node.below.get(number);
    child.ns += ns;
    return child;
  };
  for (const site of sites) {
    const outer = [...site.path].reverse().reduce(
        (node, frame) => grow(node, frame.function || frameText(frame), "", site.time_ns), root);
    const call = grow(outer, site.mpi, "mpi", site.time_ns);
    if (site.stall_ns !== null) {
      const stall = Math.min(site.stall_ns, site.time_ns);
      call.stall += stall;
      call.work += site.time_ns - stall;
    }
    root.ns += site.time_ns;
  }
  const walk = (node, depth) => {
    for (const child of [...node.below.values()].sort((a, b) => b.ns - a.ns)) {
      nodes.push([depth, child.number, child.ns, child.work, child.stall]);
      walk(child, depth + 1);
    }
  };
  walk(root, 0);
  return {names, nodes, ns: root.ns};
}
