/* Where in the program MPI is called, by time. */

function siteBar(row, most) {
  const longest = row.site.longest_ns ? ", longest call " + textOfNs(row.site.longest_ns) : "";
  return timeBar(callText(row.site) + longest, row.site, most, row.outside);
}

function siteColumns(job, rows) {
  const whole = runNs(job), stalls = rows.some((row) => row.site.stall_ns !== null);
  const most = d3.max(rows, (row) => row.outside ? 0 : row.site.time_ns) || 1;
  const columns = [
    {title: "Place", kind: "place", value: (row) => row.site},
    {title: "Function", kind: "text", class: "brief", value: (row) => row.site.mpi},
    {title: "", kind: "node", value: (row) => siteBar(row, most)},
    {title: "Calls", kind: "count", key: "count", value: (row) => row.site.count},
    {title: "Time", kind: "ns", key: "time", value: (row) => row.site.time_ns},
  ];
  if (whole)
    columns.push({
      title: "Of run",
      kind: "share",
      key: "share",
      value: (row) => row.outside ? null : row.site.time_ns / whole,
      hint: "of the run time of all ranks"
    });
  if (stalls)
    columns.push({
      title: "Stalled",
      kind: "share",
      key: "stalled",
      value: (row) => stalledShare(row.site),
      hint: "of the time of this call site"
    });
  columns.push({
    title: "Mean",
    kind: "ns",
    key: "mean",
    value: (row) => row.site.count ? row.site.time_ns / row.site.count : null
  });
  if (rows.some((row) => row.spread))
    for (const [title, key] of [["Least (rank)", "min"], ["Most (rank)", "max"]])
      columns.push({
        title,
        kind: "ns",
        key,
        value: (row) => row.spread ? row.spread[key + "_ns"] : null,
        small: (row) => "(" + row.spread[key + "_rank"] + ")",
        hint: "of the ranks that call MPI here"
      });
  if (rows.some((row) => row.site.ranks !== job.summary.ranks))
    columns.push(
        {title: "Ranks", kind: "count", key: "ranks", value: (row) => row.site.ranks, hint: "that call MPI here"});
  if (rows.some((row) => row.site.messages_sent))
    columns.push(
        {title: "Messages", kind: "count", key: "messages", value: (row) => row.site.messages_sent},
        {title: "Sent", kind: "bytes", key: "bytes", value: (row) => row.site.bytes_sent});
  return isUntimed(job) ? columns.filter((column) => !["ns", "share", "node"].includes(column.kind)) : columns;
}

const SITE_SUMS = ["count", "time_ns", "stall_ns", "messages_sent", "bytes_sent"];

/* A row has all call paths of a place. MPI_Init and MPI_Finalize come last. */
function siteRows(job) {
  const spreads = job.ranks.callsites || [], places = new Map();
  (job.summary.callsites || []).forEach((site, i) => {
    const row = places.get(job.places[i]);
    if (!row) {
      places.set(i, {site: {...site, paths: [site]}, i, spread: spreads[i] || null, outside: ENDS.includes(site.mpi)});
      return;
    }
    row.site.paths.push(site);
    for (const key of SITE_SUMS)
      if (site[key] !== null) row.site[key] += site[key];
    for (const key of ["longest_ns", "ranks"]) row.site[key] = Math.max(row.site[key], site[key]);
  });
  const last = (row) => row.outside ? 2 : row.site.mpi ? 0 : 1;
  return [...places.values()].sort((a, b) => last(a) - last(b) || b.site.time_ns - a.site.time_ns);
}

function callsitesFigure(job) {
  const rows = siteRows(job);
  if (!rows.length) return null;
  const first = rows[0], whole = runNs(job);
  const inRun = (job.summary.callsites || []).filter((site) => site.path && site.time_ns && !ENDS.includes(site.mpi));
  const heading = isUntimed(job) ? "Where MPI is called; no call was timed" :
      first.outside              ? "MPI is called at its start and end only" :
                                   callText(first.site) + " takes " +
          (whole ? textOfShare(first.site.time_ns / whole) + " of the run" : textOfNs(first.site.time_ns));
  return figure(
      "callsites", "Call sites", heading, isUntimed(job) ? null : timeLegend(rows.map((row) => row.site)),
      table(
          "callsites", siteColumns(job, rows), rows, 12,
          (row) => ({id: "site-" + row.i, class: row.outside ? "outside" : null})),
      isUntimed(job) ? null : flamePart("icicle", "MPI time below each function", "the time in MPI", sitesFlame(inRun)),
      note(
          "Sums over all ranks. Open a place to see its callers. The path of a call is exact, not sampled." +
          (isUntimed(job) ? "" : " Calls before and after the run are gray, and have no bar.")));
}
