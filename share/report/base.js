/* What the figures share: the document, texts of numbers, elements, tables, what a pointer is told. */

const errors = [];

function errorKeep(text) {
  errors.push(text);
  document.documentElement.dataset.errors = JSON.stringify(errors);
}

addEventListener("error", (event) => errorKeep(String(event.message)), true);
document.addEventListener(
    "securitypolicyviolation", (event) => errorKeep("refused: " + event.violatedDirective + " " + event.blockedURI));

const SVG = "http://www.w3.org/2000/svg";
const page = JSON.parse(document.getElementById("document").textContent);

/* ---- numbers as texts -------------------------------------------------------------------------------------------- */

function threeDigits(value, unit) {
  return value.toFixed(value < 9.995 ? 2 : value < 99.95 ? 1 : 0) + " " + unit;
}

function textOfNs(ns) {
  if (ns <= 0) return "0 s";
  const steps = [[1, "ns"], [1e3, "µs"], [1e6, "ms"], [1e9, "s"]];
  const step = steps.find(([factor], i) => i === 3 || ns / factor < 999.5);
  return step[1] === "ns" ? Math.round(ns) + " ns" : threeDigits(ns / step[0], step[1]);
}

function textOfBytes(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
  let unit = 0;
  while (unit + 1 < units.length && bytes >= 1023.5) {
    bytes /= 1024;
    unit++;
  }
  return Number.isInteger(bytes) ? bytes + " " + units[unit] : threeDigits(bytes, units[unit]);
}

/* Of a long time: in minutes, hours, days. */
function textOfLong(ns) {
  const seconds = Math.round(ns / 1e9),
        [days, hours, minutes] = [86400, 3600, 60].map((unit) => Math.floor(seconds / unit));
  if (seconds < 120) return textOfNs(ns);
  return days ? days + " d " + hours % 24 + " h" :
      hours   ? hours + " h " + minutes % 60 + " min" :
                minutes + " min " + seconds % 60 + " s";
}

const textOfCount = d3.format(",.0f");

/* On an axis: no zeros behind the point. */
function tickOfNs(ns) {
  return textOfNs(ns).replace(/(\.\d*?)0+ /, "$1 ").replace(". ", " ");
}

/* Few digits, for axes and tiles. */
function textOfAbout(count) {
  return count < 1e5 ? textOfCount(count) : d3.format(".3~s")(count).replace("G", "B");
}

function textOfShare(share) {
  return (share * 100).toFixed(1) + " %";
}

const textsOf = {
  ns: textOfNs,
  s: (seconds) => textOfNs(seconds * 1e9),
  bytes: textOfBytes,
  count: textOfCount,
  share: textOfShare,
  ratio: (ratio) => ratio.toFixed(2),
  change: (change) => change === Infinity ? "new" : (change < 0 ? "" : "+") + textOfShare(change),
  rank: String,
};

/* Of a kind of number, with all its digits where the short text has dropped some. */
function exactly(kind, value) {
  const text = textsOf[kind](value);
  if (kind === "ns" && value >= 1000) return text + " (" + textOfCount(value) + " ns)";
  if (kind === "bytes" && value >= 1024) return text + " (" + textOfCount(value) + " B)";
  return text;
}

/* ---- elements ---------------------------------------------------------------------------------------------------- */

/* Texts become text nodes: nothing out of a run is ever read as HTML. */
function make(tag, attributes, ...children) {
  const [name, space] = tag.startsWith("svg:") ? [tag.slice(4), SVG] : [tag, "http://www.w3.org/1999/xhtml"];
  const element = document.createElementNS(space, name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on"))
      element.addEventListener(key.slice(2), value);
    else
      element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/* A number that can be read by programs, too. */
function figureOf(tag, kind, value, attributes) {
  const known = value !== null && value !== undefined && !Number.isNaN(value);
  return make(
      tag, {"data-kind": kind, "data-value": known ? value : undefined, ...attributes},
      known ? textsOf[kind](value) : "–");
}

function note(text) {
  return make("p", {class: "note"}, text);
}

function missing(text) {
  return make("p", {class: "missing"}, text);
}

/* Of a part that was counted anew from the trace, or has no rank of this job: without what is of whole processes. */
function isAnew(job) {
  return job.summary.run_seconds === null;
}

function noMessages(job) {
  return job.summary.selection ? "No messages in this part" : "No messages were recorded";
}

function legend(entries) {
  return make(
      "ul", {class: "legend"}, entries.map(([name, text]) => make("li", {}, make("i", {class: "fill-" + name}), text)));
}

/* Buttons of which one is pressed: options are [value, text]. */
function choice(label, options, value, changed) {
  const buttons = options.map(
      ([key, text]) => make(
          "button", {
            type: "button",
            "aria-pressed": String(key === value),
            "data-choice": key,
            onclick: () => {
              buttons.forEach(
                  (button) => button.setAttribute("aria-pressed", String(button.dataset.choice === String(key))));
              changed(key);
            }
          },
          text));
  return make("span", {class: "group", role: "group", "aria-label": label}, buttons);
}

function selection(label, options, changed) {
  return make(
      "label", {}, label + " ",
      make(
          "select", {onchange: (event) => changed(event.target.value)},
          options.map(([key, text]) => make("option", {value: key}, text))));
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

function cellMake(column, row) {
  const value = column.value(row);
  if (column.kind === "node") return make("td", {class: "barcell"}, value);
  if (column.kind === "parts") return make("td", {}, make("div", {class: "sentence"}, value));
  if (column.kind === "place")
    return make("td", {class: "placecell", "data-value": placeText(value)}, placeNode(value));
  if (column.kind === "call") return make("td", {class: "placecell", "data-value": callText(value)}, callNode(value));
  if (column.kind === "text" || !column.kind)
    return make(
        "td", {class: column.class || "name", "data-value": value === null ? "" : value},
        value === null ? "–" : breakable(value));
  const cell =
      figureOf("td", column.kind, value, {class: column.kind === "rank" ? "brief" : "number", "data-key": column.key});
  if (column.small && value !== null && value !== undefined) cell.append(make("small", {}, " " + column.small(row)));
  return cell;
}

/* columns: [{title, kind, value(row)}]; the first rows are shown, and the rest when asked for. */
function table(name, columns, rows, most = 15, attributesOf = () => ({})) {
  const body = make(
      "tbody", {},
      rows.map(
          (row, i) =>
              make("tr", {hidden: i >= most, ...attributesOf(row)}, columns.map((column) => cellMake(column, row)))));
  const head = make(
      "thead", {},
      make(
          "tr", {},
          columns.map(
              (column) => make(
                  "th", {
                    scope: "col",
                    class: column.kind && !["text", "node", "rank", "place", "call", "parts"].includes(column.kind) ?
                        "number" :
                        undefined,
                    title: column.hint
                  },
                  column.title))));
  const whole = make("div", {class: "wide"}, make("table", {"data-table": name}, head, body));
  if (rows.length <= most) return whole;
  const button = make(
      "button", {
        type: "button",
        class: "more",
        "aria-expanded": "false",
        onclick: () => {
          const open = button.getAttribute("aria-expanded") === "true";
          [...body.children].forEach((line, i) => {
            line.hidden = open && i >= most;
          });
          button.setAttribute("aria-expanded", String(!open));
          button.textContent = open ? "All " + textOfCount(rows.length) : "Only the first " + most;
        }
      },
      "All " + textOfCount(rows.length));
  return make("div", {}, whole, button);
}

/* Parts of a bar in a cell: [[class, length]], of `whole`. */
function cellBar(parts, whole, label) {
  return make(
      "div", {class: "cellbar", "data-tip": label}, parts.filter(([, length]) => length > 0).map(([name, length]) => {
        const part = make("span", {class: "fill-" + name});
        part.style.width = 100 * length / whole + "%";
        return part;
      }));
}

/* ---- what a pointer, or the focus, is told ----------------------------------------------------------------------- */

const tip = document.getElementById("tip");

function tipShow(text, x, y) {
  tip.textContent = text;
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const left = x + 14 + box.width > innerWidth ? x - box.width - 14 : x + 14;
  tip.style.left = Math.max(4, left) + "px";
  tip.style.top = Math.max(4, Math.min(y + 14, innerHeight - box.height - 4)) + "px";
}

function tipHide() {
  tip.hidden = true;
}

function tipsListen() {
  const told = (event) => event.target.closest && event.target.closest("[data-tip]");
  document.addEventListener("pointermove", (event) => {
    const element = told(event);
    if (element)
      tipShow(element.dataset.tip, event.clientX, event.clientY);
    else if (!event.target.closest("canvas"))
      tipHide();
  });
  document.addEventListener("focusin", (event) => {
    const element = told(event);
    if (!element) return;
    const box = element.getBoundingClientRect();
    tipShow(element.dataset.tip, box.left + box.width / 2, box.top);
  });
  document.addEventListener("focusout", tipHide);
  /* Not what scrolls by itself, as a focus that moves does. */
  for (const moved of ["wheel", "touchmove"]) document.addEventListener(moved, tipHide, {passive: true});
}

/* ---- figures ----------------------------------------------------------------------------------------------------- */

const drawings = []; /* what is drawn anew when the window or the colours change */

function drawn(draw) {
  drawings.push(draw);
  return draw;
}

/* The heading says what is seen; the word above it, what the figure is. */
function figure(id, word, heading, ...content) {
  return make(
      "section", {id, "data-figure": id}, make("h2", {}, make("span", {class: "kicker"}, word), heading), ...content);
}

function colourOf(name) {
  return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
}

/* A canvas in pixels of the screen, `width` x `height` of the page. */
function canvasSize(canvas, width, height) {
  const scale = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  canvas.style.width = width + "px";
  canvas.style.height = height + "px";
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

/* Keeps what is painted, so that marks can come and go on it. */
function canvasKeep(canvas) {
  const kept = make("canvas", {width: canvas.width, height: canvas.height});
  kept.getContext("2d").drawImage(canvas, 0, 0);
  return kept;
}

/* Puts that back. */
function canvasRestore(canvas, kept) {
  const context = canvas.getContext("2d");
  context.save();
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, canvas.width, canvas.height);
  context.drawImage(kept, 0, 0);
  context.restore();
  return context;
}

/* What the colours mean: of(0) to of(1), with the texts of both ends. */
function rampPut(box, of, from, to) {
  const ramp = make("canvas", {width: 120, height: 10, "aria-hidden": "true"}), context = ramp.getContext("2d");
  for (let i = 0; i < 120; i++) {
    context.fillStyle = of(i / 119);
    context.fillRect(i, 0, 1, 10);
  }
  box.replaceChildren(make("span", {}, from + " ", ramp, " " + to));
}

/* Axes of an SVG: `scale` along the bottom or the left. */
function axisPut(svg, axis, x, y, grid) {
  const group =
      d3.select(svg).append("g").attr("class", grid ? "axis grid" : "axis").attr("transform", `translate(${x},${y})`);
  group.call(axis);
  group.select(".domain").remove();
  group.selectAll("text").attr("fill", null).attr("font-size", null);
  return group;
}

/* Titles of the axes: one above the left axis, one below the bottom axis. */
function axisTitles(svg, left, bottom, margin, right, height) {
  svg.append(
      make("svg:text", {x: 4, y: 11}, left),
      make("svg:text", {x: (margin.left + right) / 2, y: height - 3, "text-anchor": "middle"}, bottom));
}

/* Bars over the whole width. Few are not drawn broad, but stand apart. */
function bandsOf(count, left, right) {
  const step = (right - left) / Math.max(1, count), inner = count > 150 ? 0 : Math.max(.15, 1 - 72 / step);
  return d3.scaleBand().domain(d3.range(count)).range([left, right]).paddingInner(inner).paddingOuter(inner / 2);
}

/* A row of bars, each of pieces [class, text, length] on top of each other; `texts` is what a pointer is told of each. */
function barsPut(svg, rows, texts, x, y, top, bottom) {
  rows.forEach((pieces, i) => {
    let from = 0;
    for (const [kind, , length] of pieces) {
      svg.append(make("svg:rect", {
        class: "fill-" + kind,
        x: x(i),
        width: rows.length > 150 ? x.bandwidth() + .4 : x.bandwidth(),
        y: y(from + length),
        height: Math.max(0, y(from) - y(from + length))
      }));
      from += length;
    }
    svg.append(make("svg:rect", {
      class: "hit",
      x: x(i),
      width: x.step(),
      y: top,
      height: bottom - top,
      tabindex: rows.length <= 64 ? 0 : undefined,
      "data-tip": texts[i],
      "aria-label": texts[i],
      role: "img"
    }));
  });
}

/* Every so many of `count` rows have a label, where there is room for `most`. */
function labelStep(count, most) {
  let step = 1;
  while (count / step > Math.max(1, most)) step *= 2;
  return step;
}

/* The ranks of row i of what has so many in a row. */
function rowName(part, i) {
  const first = i * part.per_row, last = Math.min(first + part.per_row, part.ranks) - 1;
  return first === last ? "rank " + first : "ranks " + first + "–" + last;
}

function rowsNote(part) {
  return part.per_row > 1 ? " Ranks are shown in groups of " + part.per_row + " neighbours, because there are " +
          textOfCount(part.ranks) + "." :
                            "";
}

function textOfPairs(count, one, many) {
  return textOfCount(count) + " " + (count === 1 ? one : many);
}
