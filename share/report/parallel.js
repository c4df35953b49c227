/* Parallel regions of OpenMP. */

/* Of all threads: idle time in it, and the computation of one thread after it. */
function parallelFigure(job) {
  const rows = job.summary.parallel_regions || [];
  if (!rows.length) return null;
  const place = (row) => row.file && row.line ? row.file.split("/").pop() + ":" + row.line + " " + row.function :
                                                row.function || "other places";
  const column = (title, key, hint) => ({title, kind: "ns", key, value: (row) => row[key], hint});
  return figure(
      "parallel", "Threads", "parallel regions of OpenMP, the most idle time first",
      table(
          "parallel",
          [
            {title: "Region", kind: "text", value: place},
            {title: "Times", kind: "count", key: "count", value: (row) => row.count, hint: "of all ranks"},
            column("Time", "time_ns", "of all ranks"),
            column("Imbalance", "imbalance_ns", "idle for longer than the thread that is idle for the shortest time"),
            column("Overhead", "overhead_ns", "idle time that all threads of the region have"),
            column("Serial after", "serial_after_ns", "one thread computes, until the next region")
          ],
          rows, 15),
      note(
          "Idle time is of all threads. A thread is idle at a barrier, for a lock, and before and after its part of a region."));
}
