/* Messages by their size: a histogram of those sent and received, and the communicators. */

function commName(comm) {
  return comm.name + (comm.label ? " “" + comm.label + "”" : "");
}

const SIZES_NOTE =
    "Point-to-point messages by the bytes of their data. A message is counted as sent when it is posted, and " +
    "as received when its receive has completed.";

/* By bucket: {from, to, sent: {count, bytes}, received: {count, bytes}}, of one communicator or all. */
function sizeBuckets(job, chosen) {
  const buckets = new Map();
  const add = (key, list) => {
    for (const size of list) {
      const at = buckets.get(size.from_bytes) ||
          {from: size.from_bytes, to: size.to_bytes, sent: {count: 0, bytes: 0}, received: {count: 0, bytes: 0}};
      at[key].count += size.count;
      at[key].bytes += size.bytes;
      buckets.set(size.from_bytes, at);
    }
  };
  job.summary.communicators.forEach((comm, i) => {
    if (chosen !== "" && Number(chosen) !== i) return;
    add("sent", comm.send_sizes);
    add("received", comm.recv_sizes);
  });
  return [...buckets.values()].sort((a, b) => a.from - b.from);
}

/* As in the summary. */
function bucketName(bucket) {
  if (bucket.to === null) return textOfBytes(bucket.from) + " and more";
  if (bucket.from === bucket.to) return textOfBytes(bucket.from);
  return textOfBytes(bucket.from) + " .. < " + textOfBytes(bucket.to + 1);
}

/* All sizes from the smallest to the largest that occurred, so that what is missing between them is seen. */
function bucketsFilled(buckets) {
  const none = {count: 0, bytes: 0}, found = new Map(buckets.map((bucket) => [bucket.from, bucket])), list = [];
  const last = buckets[buckets.length - 1].from;
  for (let from = buckets[0].from; from <= last; from = from ? from * 2 : 1)
    list.push(found.get(from) || {from, to: from ? from * 2 - 1 : 0, sent: none, received: none});
  return list;
}

/* Sent beside received, and what both are told as. */
function sizeBars(svg, bucket, key, x, width, y) {
  const half = Math.min(width / 2, 40), middle = x + width / 2, [bottom, top] = y.range();
  ["sent", "received"].forEach((side, k) => {
    const value = bucket[side][key], height = Math.max(value ? 1 : 0, bottom - y(value));
    svg.append(make(
        "svg:rect", {class: "fill-" + side, x: middle - half + k * half, width: half, y: bottom - height, height}));
  });
  const side = (name, part) =>
      "\n" + name + " " + textOfPairs(part.count, "message", "messages") + ", " + textOfBytes(part.bytes);
  const told = bucketName(bucket) + side("sent", bucket.sent) + side("received", bucket.received);
  const area = {x, width, y: top, height: bottom - top};
  svg.append(make("svg:rect", {class: "hit", ...area, tabindex: 0, "data-tip": told, "aria-label": told, role: "img"}));
}

function sizesTable(buckets) {
  return table(
      "sizes",
      [
        {title: "Size", kind: "text", value: bucketName},
        {title: "Sent", kind: "count", key: "sent_count", value: (bucket) => bucket.sent.count},
        {title: "Bytes sent", kind: "bytes", key: "sent_bytes", value: (bucket) => bucket.sent.bytes},
        {title: "Received", kind: "count", key: "received_count", value: (bucket) => bucket.received.count},
        {title: "Bytes received", kind: "bytes", key: "received_bytes", value: (bucket) => bucket.received.bytes},
      ],
      buckets, 60);
}

function sizesDraw(view) {
  const {job, box, key} = view, width = Math.max(280, box.clientWidth), height = 250,
                   margin = {left: 56, right: 8, top: 22, bottom: 42};
  const buckets = sizeBuckets(job, view.chosen);
  if (!buckets.length) return box.replaceChildren(missing("No messages on this communicator."));
  const filled = bucketsFilled(buckets), text = key === "bytes" ? textOfBytes : textOfCount;
  const right = width - margin.right, x = bandsOf(filled.length, margin.left, right);
  const y = d3.scaleLinear()
                .domain([0, d3.max(filled, (bucket) => Math.max(bucket.sent[key], bucket.received[key])) || 1])
                .range([height - margin.bottom, margin.top]);
  const svg = make("svg:svg", {viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Messages by size"});
  axisPut(
      svg,
      d3.axisLeft(y).ticks(5).tickSize(-(right - margin.left)).tickFormat(key === "bytes" ? textOfBytes : textOfAbout),
      margin.left, 0, true);
  filled.forEach((bucket, i) => sizeBars(svg, bucket, key, x(i), x.bandwidth(), y));
  const step = Math.max(1, Math.ceil(filled.length / Math.max(3, (width - margin.left) / 62)));
  axisPut(
      svg,
      d3.axisBottom(x)
          .tickValues(d3.range(0, filled.length, step))
          .tickFormat((i) => textOfBytes(filled[i].from))
          .tickSizeOuter(0),
      0, height - margin.bottom);
  axisTitles(
      svg, key === "bytes" ? "bytes" : "messages", "size of a message, from here to twice as much", margin, right,
      height);
  box.replaceChildren(svg);
  view.numbers.replaceChildren(sizesTable(buckets));
}

/* One size needs no chart. */
function sizesFigure(job) {
  if (!job.summary.communicators) return null;
  const comms = job.summary.communicators, all = sizeBuckets(job, ""), sent = commSum(job, "send_count"),
        bytes = commSum(job, "send_bytes");
  if (!all.length) return figure("sizes", "Message sizes", noMessages(job), note(SIZES_NOTE));
  if (all.length === 1)
    return figure(
        "sizes", "Message sizes", "All messages have " + bucketName(all[0]), sizesTable(all), note(SIZES_NOTE));
  const view = {job, key: "count", chosen: "", box: make("div", {"data-plot": "sizes"}), numbers: make("div", {})};
  const redraw = drawn(() => sizesDraw(view));
  const heaviest = all.reduce((a, b) => b.sent.bytes > a.sent.bytes ? b : a),
        commonest = all.reduce((a, b) => b.sent.count > a.sent.count ? b : a);
  const used = comms.map((comm, i) => [i, comm]).filter(([, comm]) => comm.send_sizes.length || comm.recv_sizes.length);
  const heading = !sent ? "Only received messages were recorded" :
                          "Messages of " + bucketName(commonest) + " are the most frequent" +
          (heaviest === commonest ? ", and carry " : "; those of " + bucketName(heaviest) + " carry ") +
          textOfShare(bytes ? heaviest.sent.bytes / bytes : 0) + " of the bytes";
  return figure(
      "sizes", "Message sizes", heading,
      make(
          "div", {class: "controls"},
          choice(
              "Show", [["count", "Messages"], ["bytes", "Bytes"]], "count",
              (key) => {
                view.key = key;
                redraw();
              }),
          used.length > 1 ? selection(
                                "of", [["", "all communicators"], ...used.map(([i, comm]) => [i, commName(comm)])],
                                (value) => {
                                  view.chosen = value;
                                  redraw();
                                }) :
                            null),
      legend([["sent", "sent"], ["received", "received"]]), view.box, note(SIZES_NOTE),
      make("details", {}, make("summary", {}, "The numbers"), view.numbers));
}

function commsFigure(job) {
  if (!job.summary.communicators) return null;
  const comms = [...job.summary.communicators].sort((a, b) => commTime(b) - commTime(a)),
        count = d3.sum(comms, (comm) => comm.merged);
  let columns = [
    {title: "Communicator", kind: "text", value: commName},
    {title: "Size", kind: "count", key: "size", value: (comm) => comm.size},
    {title: "Time", kind: "ns", key: "time", value: (comm) => comm.comm_time_ns},
    {title: "Stalled", kind: "ns", key: "stall", value: (comm) => comm.stall_ns},
    {title: "In messages", kind: "ns", key: "p2p", value: (comm) => comm.p2p_time_ns},
    {title: "In waits", kind: "ns", key: "wait", value: (comm) => comm.wait_time_ns},
    {title: "In collectives", kind: "ns", key: "coll", value: (comm) => comm.coll_time_ns},
    {title: "Messages sent", kind: "count", key: "send_count", value: (comm) => comm.send_count},
    {title: "Bytes sent", kind: "bytes", key: "send_bytes", value: (comm) => comm.send_bytes},
    {title: "Collectives", kind: "count", key: "coll_count", value: (comm) => comm.coll_count},
    {title: "Their bytes", kind: "bytes", key: "coll_bytes", value: (comm) => comm.coll_bytes},
    {title: "In use for", kind: "ns", key: "span", value: (comm) => comm.span_ns}
  ];
  if (commSum(job, "rma_time_ns"))
    columns.push({title: "In windows", kind: "ns", key: "rma", value: (comm) => comm.rma_time_ns});
  if (commSum(job, "io_time_ns"))
    columns.push({title: "In files", kind: "ns", key: "io", value: (comm) => comm.io_time_ns});
  if (isUntimed(job)) columns = columns.filter((column) => column.kind !== "ns");
  const whole = d3.sum(comms, commTime);
  return figure(
      "communicators", "Communicators",
      !comms.length      ? "No communicator was used" :
          isUntimed(job) ? textOfPairs(count, "communicator was", "communicators were") + " used; no call was timed" :
                           commName(comms[0]) + " has " + textOfShare(whole ? commTime(comms[0]) / whole : 0) +
              " of the time on " + textOfPairs(count, "communicator", "communicators"),
      comms.length ? table("communicators", columns, comms, 12) : null,
      note(
          "Sums over the ranks of the communicator. Time is inside all calls charged to it: messages " +
          "(posting, sending, receiving), waits (completion calls), collectives, windows, files, " +
          "creation and freeing. In use: from its first communication to the end of the last, " +
          "the longest of any rank. A name with * is the sum of freed communicators."));
}

function commTime(comm) {
  return comm.comm_time_ns;
}
