/* The comparison of two sets of runs (mpit-dump --diff): the head of the text, and the rows of the JSON. */

const COMPARED = {
  run: "Run",
  function: "Function",
  callsite: "Call site",
  communicator: "Communicator",
  rank: "Rank"
};

function runsText({old, new: later}) {
  return old.join(", ") + " → " + later.join(", ");
}

function differenceOverview(subject) {
  const {head, difference} = subject;
  const lines = head.trim().split("\n"), notice = difference.ranks_differ ? lines.shift() : null;
  const {least_ranks: least, most_ranks: most} = difference;
  const about = [["Runs", runsText(subject)]];
  if (least !== null) about.push(["Ranks", least === most ? String(least) : least + " to " + most]);
  return make(
      "section", {id: "overview", "data-figure": "overview"}, make("h1", {}, lines[0]),
      make("dl", {class: "about"}, about.map(([name,
                                               text]) => make("div", {}, make("dt", {}, name), make("dd", {}, text)))),
      notice ? make("ul", {class: "notices"}, make("li", {}, notice)) : null, lines.slice(1).map(note));
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

/* A click on the head of a column sorts the rows of a table: numbers with the largest first, and then the other way. */
function sortable(whole, columns, rows) {
  const body = whole.querySelector("tbody"), heads = [...whole.querySelectorAll("th")];
  const lines = [...body.children].map((line, i) => ({line, row: rows[i]}));
  heads.forEach((head, i) => {
    const key = columns[i].order || columns[i].value;
    const sort = () => {
      const hidden = [...body.children].map((line) => line.hidden), before = head.getAttribute("aria-sort");
      const falls = before ? before === "ascending" : typeof key(rows[0]) === "number";
      lines.sort((a, b) => (falls ? d3.descending : d3.ascending)(key(a.row), key(b.row)));
      heads.forEach((one) => one.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", falls ? "descending" : "ascending");
      lines.forEach(({line}, place) => {
        line.hidden = hidden[place];
        body.append(line);
      });
    };
    head.replaceChildren(make("button", {type: "button", class: "sort", onclick: sort}, head.textContent));
  });
  return whole;
}

/* Before, after and change of one value of a row: "seconds", "count" or "bytes". With several runs, with the ranges. */
function changeColumns(value, kind, several, title) {
  const range = ({min, max}) => min < max ? "(" + textsOf[kind](min) + " to " + textsOf[kind](max) + ")" : "";
  const side = (set, word) => ({
    title: title + word,
    kind,
    key: value + "_" + set,
    value: (row) => row[value][set].median,
    small: several ? (row) => range(row[value][set]) : null
  });
  const change = (row) => row[value].change === null && row[value].new.median > 0 ? Infinity : row[value].change;
  return [
    side("old", "before"), side("new", "after"),
    {title: title + "change", kind: "change", key: value + "_change", value: change, order: (row) => change(row) || 0}
  ];
}

function isSeveral(difference) {
  return difference.old_runs + difference.new_runs > 2;
}

function countsFigure({difference}) {
  const rows = difference.rows.filter((row) => ["run", "callsite"].includes(row.kind) && row.counts_differ);
  if (!rows.length) return figure("counts", "Counts", "Calls, messages and bytes are the same everywhere.");
  const columns = [
    {title: "Name", kind: "text", value: (row) => row.kind === "run" ? "messages of all" : row.name},
    ...changeColumns("count", "count", isSeveral(difference), "Count "),
    ...changeColumns("bytes", "bytes", isSeveral(difference), "Bytes ")
  ];
  return figure(
      "counts", "Counts", "Counts that differ: calls, or messages",
      sortable(table("counts", columns, rows, 10), columns, rows));
}

/* ---- times ------------------------------------------------------------------------------------------------------- */

function secondsMore({seconds}) {
  return seconds.new.median - seconds.old.median;
}

/* From the middle to the left for less time, to the right for more. */
function changeBar(row, most) {
  const more = secondsMore(row), length = Math.abs(more);
  return cellBar(
      [["blank", most + Math.min(0, more)], [more < 0 ? "less" : "more", length]], 2 * most,
      row.name + ": " + textsOf.s(length) + (more < 0 ? " less" : " more"));
}

function isApart({old, new: later}) {
  return old.max < later.min || later.max < old.min;
}

function changesTable(difference, rows) {
  const most = d3.max(rows, (row) => Math.abs(secondsMore(row))) || 1;
  const columns = [
    {title: "What", kind: "text", class: "brief", value: (row) => COMPARED[row.kind]},
    {title: "Name", kind: "text", value: (row) => row.name}, {
      title: "Difference",
      kind: "node",
      value: (row) => changeBar(row, most),
      order: (row) => Math.abs(secondsMore(row))
    },
    ...changeColumns("seconds", "s", isSeveral(difference), "Time ")
  ];
  if (isSeveral(difference))
    columns.push({
      title: "Ranges",
      kind: "text",
      class: "brief",
      value: (row) => isApart(row.seconds) ? "apart" : "overlap",
      hint: "of the times before and after"
    });
  return sortable(
      table("changes", columns, rows, 15, (row) => ({class: row.time_differs ? null : "outside"})), columns, rows);
}

function changesFigure({difference}) {
  const all = difference.rows, differing = all.filter((row) => row.time_differs).length, box = make("div");
  const show = (kind) =>
      box.replaceChildren(changesTable(difference, all.filter((row) => kind === "all" || row.kind === kind)));
  const kinds = Object.keys(COMPARED).filter((kind) => kind !== "run" && all.some((row) => row.kind === kind));
  show("all");
  return figure(
      "changes", "Changes",
      differing ?
          textOfCount(differing) + " of " + textOfPairs(all.length, "time", "times") + " changed beyond the noise" :
          "No time changed beyond the noise",
      make(
          "div", {class: "controls"},
          choice("Rows", [["all", "All"], ...kinds.map((kind) => [kind, COMPARED[kind] + "s"])], "all", show)),
      legend([["less", "less time"], ["more", "more time"]]), box,
      note(
          "Times of functions, call sites and communicators are over all ranks. The time of a rank is its time outside of " +
          "MPI. Gray rows have no difference beyond the noise. The head of a column sorts the rows."));
}
