/* Places in the program: where a call was made, and the path of calls that leads to it. */

/* The last part of a path of a file. */
function baseName(path) {
  return path.split("/").pop() || path;
}

/* "halo.c:72 exchange", as in the summary, or all that is known. */
function frameText(frame) {
  if (frame.file && frame.line)
    return baseName(frame.file) + ":" + frame.line + (frame.function ? " " + frame.function : "");
  const module = frame.module ? baseName(frame.module) : "?";
  return frame.function ? frame.function + " [" + module + "]" :
                          "[" + module + "+0x" + Number(frame.address || 0).toString(16) + "]";
}

/* The whole path and the line, for an editor. */
function frameTitle(frame) {
  return frame && frame.file && frame.line ? frame.file + ":" + frame.line : null;
}

/* The place of a call, and the wrapper in which it calls MPI, if there is one. */
function placeText(site) {
  if (!site) return "(unknown place)";
  if (!site.place) return site.function || "(other places)";
  const other = site.function && site.function !== site.place.function;
  return frameText(site.place) + (other ? " > " + site.function : "");
}

/* A text that may be broken after each "/" only. */
function breakable(text) {
  return text.split(/(?<=\/)(?=.)/).flatMap((part, i) => i ? [make("wbr"), part] : [part]);
}

/* The callers, innermost first. Of a place with several paths, each with what it costs. */
function pathList(site) {
  return (site.paths || [site])
      .map(
          (one, i, all) => make(
              "ol", {class: "path"},
              all.length > 1 ?
                  make("li", {class: "dim"}, textOfPairs(one.count, "call", "calls") + ", " + textOfNs(one.time_ns)) :
                  null,
              one.path.map((frame) => make("li", {title: frameTitle(frame)}, frameText(frame))),
              one.cut ? make("li", {class: "dim"}, "(outer callers are not known)") : null));
}

/* The place, which opens to its path. */
function placeNode(site) {
  const text = placeText(site), short = text.length < 34 ? " brief" : "";
  if (!site || !site.path || (site.path.length < 2 && !(site.paths && site.paths[1])))
    return make("span", {class: "place" + short, title: frameTitle(site && site.place)}, breakable(text));
  return make(
      "details", {class: "place" + short}, make("summary", {title: "Show the callers"}, breakable(text)),
      pathList(site));
}

/* The function and the place, with the path. */
function callNode(site) {
  return site ? [make("span", {class: "called"}, site.mpi || "?"), placeNode(site)] : "(unknown place)";
}

/* "MPI_Waitall at jacobi.c:19 exchange" */
function callText(site) {
  return site ? (site.mpi || "?") + " at " + placeText(site) : "(unknown place)";
}
