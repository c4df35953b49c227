/* Findings, as in the summary, and the figures that this run lacks. */

function isAt(site, place) {
  return site && site.mpi === place.mpi && site.place && site.place.function === place.function &&
      site.place.file === place.file && site.place.line === place.line;
}

/* The row of the finding's call site in the table of call sites, if it is there. */
function siteIndex(job, place) {
  const index = place ? (job.summary.callsites || []).findIndex((site) => isAt(site, place)) : -1;
  return index < 0 ? index : job.places[index];
}

function findingItem(job, finding) {
  const index = siteIndex(job, finding.place), call = callOfFinding(job, finding);
  return make(
      "li", {"data-rule": finding.rule},
      finding.note ? make("b", {}, "!") :
                     figureOf("b", "share", Math.min(finding.share_of_run, 9.99), {"data-finding": "share"}),
      make(
          "div", {}, make("strong", {}, finding.text), " ", finding.advice || "",
          index >= 0 ? [" ", make("a", {href: "#site-" + index}, placeText(job.summary.callsites[index]))] : null,
          call ?
              [" ", make("button", {type: "button", "data-show": "", onclick: () => findingShow(job, call)}, "Show")] :
              null));
}

function findingsFigure(job) {
  const findings = job.summary.findings;
  if (!findings) return null;
  const blurred = job.summary.not_judged;
  const list = make("ol", {class: "findings"}, findings.map((finding) => findingItem(job, finding)));
  const faults = findings.some((finding) => !finding.note);
  const efficiency = job.summary.efficiency && job.summary.efficiency.parallel;
  const shared = d3.sum(findings, (finding) => finding.rule === "oversubscribed" ? finding.share_of_run : 0);
  const title = faults                     ? "What stands out" :
      shared && efficiency + shared >= 0.8 ? "Nothing stands out beside the shared processors" :
      efficiency < 0.8                     ? "No fault that mpit knows explains the efficiency" :
                                             "Nothing stands out";
  return figure(
      "findings", "Findings", blurred && !faults ? "Not judged" : title,
      blurred ? make("p", {class: "unended"}, blurred) : null, findings.length ? list : null,
      blurred && !faults ?
          note("No times are judged.") :
          note(
              faults && job.summary.analysed_seconds !== null ? "The percentage is what the cure gains of the " +
                      (job.summary.analysed_part ? "analysed part" : "run") +
                      ", after the cures above it. So gains add up." :
                  faults ? "The percentage is of the run, and what the finding costs at most. Findings overlap." :
                           "No rule found a cost of 2 % of the run time or more."),
      missingBox(job));
}

/* ---- missing figures --------------------------------------------------------------------------------------------- */

/* Of a reason: the figures that it takes away. */
function missingGroups(job) {
  const groups = new Map();
  const add = (part, name) => {
    if (!part || part.unknown === undefined) return;
    const key = part.unknown + (part.record || "");
    const group = groups.get(key) || {why: part.unknown, record: part.record, names: []};
    group.names.push(name);
    groups.set(key, group);
  };
  add(job.ranks, "figures of single ranks");
  add(job.timeline, "timeline");
  add(job.analysis, "waits");
  add(job.analysis, "segments of computation");
  add(job.matrix, "messages by pair");
  return [...groups.values()];
}

function inList(names) {
  return names.length < 2 ? names.join("") : names.slice(0, -1).join(", ") + " and " + names[names.length - 1];
}

function sentence(text) {
  const first = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(first) ? first : first + ".";
}

function recordCommand(job, option) {
  const about = job.summary.about, command = about && about.command;
  const program =
      command && command.length ? command.map((word) => /\s/.test(word) ? "'" + word + "'" : word) : ["COMMAND"];
  const launcher = job.summary.world_size > 1 ? ["mpirun", "-n", String(job.summary.world_size)] : [];
  return ["mpit-run", option, ...launcher, ...program].join(" ");
}

/* One box with all that is missing, and the next step. */
function missingBox(job) {
  const lines = missingGroups(job).map(
      (group) => make(
          "li", {}, sentence(group.why), " ", sentence("It has no " + inList(group.names)),
          group.record ? [" Next: ", make("code", {}, recordCommand(job, group.record))] : null));
  const whole = job.summary.selection === undefined && job.summary.ranks > 0;
  if (job.profile === null && whole)
    lines.push(make(
        "li", {}, "It has no samples of the program's functions. Next: ",
        make("code", {}, recordCommand(job, "--sample 100 --trace"))));
  const sites = job.summary.callsites || [];
  if (sites.length && !sites.some((site) => site.line))
    lines.push(
        make("li", {}, "Call sites have no lines. Compile the program with -g, and keep it until the job ends."));
  return lines.length ? make(
                            "div", {class: "lacks", "data-figure-part": "missing"},
                            make("p", {}, make("b", {}, "Not in this run")), make("ul", {}, lines)) :
                        null;
}
