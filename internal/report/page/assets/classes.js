"use strict";
// classing draws the traffic classes of a scenario beside each other: a table, the rate and the latency of each over time.
const classing = (() => {
  const { el, num, rate, durTick, table, lines, cycle, even } = charts;

  // bins puts the slices of a timeline into bins of k slices. sum: the values of a bin, each with the index of its slice.
  function bins(n, k, of) {
    const out = [];
    for (let i = 0; i < n; i += k) out.push(of(Array.from({ length: Math.min(k, n - i) }, (_, j) => i + j)));
    return out;
  }

  // width is how many slices a bin has: enough for 8 requests on average, and at least 12 bins.
  function width(t) {
    const n = t.ended.length, requests = t.ended.reduce((a, b) => a + b, 0) * t.step;
    return Math.max(1, Math.min(Math.floor(n / 12), Math.max(Math.ceil((8 * n) / Math.max(1, requests)), Math.ceil(n / 120))));
  }

  const mean = (values) => (list) => list.reduce((sum, i) => sum + (values[i] || 0), 0) / list.length;
  // centers are the middles of the bins, in seconds.
  const centers = (t, k) => bins(t.ended.length, k, (list) => ((list[0] + list[list.length - 1] + 1) / 2) * t.step);

  // requestedAt is the rate of stages at a time.
  function requestedAt(stages, seconds) {
    for (const [from, to, length] of stages) {
      if (seconds < length) return from + ((to - from) * seconds) / length;
      seconds -= length;
    }
    return null;
  }

  // requested is the rate that levels ask for together at the centers of bins; null if one of them has no stages.
  function requested(levels, xs) {
    if (!levels.length || levels.some((l) => !l.stages)) return null;
    return xs.map((x) => levels.reduce((sum, l) => { const r = requestedAt(l.stages, x - begins(l)); return r === null ? sum : (sum ?? 0) + r; }, null));
  }
  const begins = (l) => (l.windows && l.windows.length ? l.windows[0].from : 0);

  // rates are the series of the requests per second of a level, which is made of levels.
  function rates(l, levels) {
    const t = l.time, k = width(t), n = t.ended.length, xs = centers(t, k), of = (values) => bins(n, k, mean(values));
    const asked = requested(levels, xs) || (t.asked ? of(t.asked) : null);
    const series = [{ name: "ended", values: of(t.ended) }, { name: "sent", values: of(t.sent), color: 4, dash: [5, 3] }];
    if (asked) series.push({ name: "requested", values: asked, color: 7, dash: [2, 3] });
    return { xs, series, note: (asked ? "The rate that was reached, and the requested rate." : "Requests that ended and that were sent.") + (k > 1 ? " Means of " + durTick(k * t.step * 1000) + "." : "") };
  }

  // meanLatency is the exact mean of the requests that ended in each bin.
  function meanLatency(t, k) {
    return bins(t.ended.length, k, (list) => {
      const n = list.reduce((sum, i) => sum + t.ended[i], 0);
      return n ? list.reduce((sum, i) => sum + t.ended[i] * (t.avg[i] || 0), 0) / n : null;
    });
  }

  function overTime(run) {
    const timed = run.levels.filter((l) => l.time);
    if (timed.length < 2 || timed.some((l) => l.time.step !== timed[0].time.step)) return null;
    const longest = timed.reduce((a, b) => (b.time.ended.length > a.time.ended.length ? b : a)), k = Math.max(...timed.map((l) => width(l.time))), xs = centers(longest.time, k);
    if (longest.time.ended.length < 2) return null;
    const x = { label: "seconds", range: [0, longest.time.ended.length * longest.time.step] }, each = (of) => timed.map((l, i) => ({ name: l.class, ...cycle(i), values: xs.map((_, j) => of(l)[j] ?? null) }));
    const per = " Means of " + durTick(k * longest.time.step * 1000) + ".", asked = requested(timed, xs);
    const sent = each((l) => bins(l.time.sent.length, k, mean(l.time.sent)));
    if (asked) sent.push({ name: "requested in all", values: asked, color: 7, dash: [2, 3] });
    return even(el("div", { class: "grid" },
      lines({ title: "Requests per second by class", note: "Requests sent." + per, x, y: { unit: "plain" }, xs, series: sent }),
      lines({ title: "Mean latency by class", note: "Of the requests that ended then." + per, x, y: { unit: "ms" }, xs, series: each((l) => meanLatency(l.time, k)).map((s) => ({ ...s, span: true })) })));
  }

  // load words what a class was asked for.
  function load(l) {
    if (!l.stages) return l.name.replace(l.class + ", ", "");
    const [from, to] = l.stages[0], seconds = l.stages.reduce((n, s) => n + s[2], 0), mean = l.stages.reduce((n, s) => n + ((s[0] + s[1]) / 2) * s[2], 0) / seconds;
    return l.stages.length > 1 ? l.stages.length + " stages, mean " + num(mean, 3) + " /s" : from === to ? num(from) + " /s" : num(from) + " to " + num(to) + " /s";
  }

  // section shows what each class sends to which server, and all of them together. pct words a percentile.
  function section(run, pct) {
    const tone = (state) => (state === "valid" ? "good" : state === "failed" || state === "server-failed" ? "bad" : "warn");
    const numbers = (l) => [num(l.requests), l.failed ? { text: num(l.failed), cls: "bad" } : "0", rate(l.throughput), pct(l.latency, 50, l.requests), pct(l.latency, 99, l.requests)];
    const rows = run.classes.flatMap((c) => run.levels.filter((l) => l.class === c.name).map((l) => [c.name, { text: c.verdict, cls: tone(c.verdict) }, ...numbers(l), { text: load(l) }, c.command, c.model || "", c.target || ""]));
    const sum = [run.whole.name, { text: run.verdict, cls: tone(run.verdict) }, ...numbers(run.whole), "", "", "", ""];
    sum.cls = "sum";
    return [table(["class", "verdict", "requests", "failed", "throughput /s", "p50", "p99", "load", "command", "model", "server"], [...rows, sum], "full"), overTime(run)];
  }

  return { section, rates };
})();
