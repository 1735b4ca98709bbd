"use strict";
// tuning draws the search of 'redline tune': the answer, capacity against latency, what each knob did, and every candidate.
const tuning = (() => {
  const { el, num, dur, table, lines, even } = charts;
  const tile = (name, value, note) => el("div", { class: "tile" }, el("span", {}, name), el("b", {}, value), note ? el("i", {}, note) : null);
  const name = (t, c) => t.knobs.map((k) => k.name + "=" + c.knobs[k.name]).join(" ");
  const same = (t, a, b) => a && b && t.knobs.every((k) => a.knobs[k.name] === b.knobs[k.name]);

  function answer(t) {
    const b = t.best, now = t.candidates.find((c) => c.present);
    if (!b) return [tile("Best", "none", "no candidate holds the objectives")];
    const out = [tile("Best, requests/s", num(b.capacity), b.limited_by === "client" ? "at least; the client is the limit" : b.stage === "find" ? (b.high === null ? "no load failed" : "an objective fails at " + num(b.high)) : "estimated from short probes")];
    for (const k of t.knobs) out.push(tile(k.name, String(b.knobs[k.name]), now && !same(t, b, now) ? "now " + now.knobs[k.name] : ""));
    if (now && !same(t, b, now) && now.inferences) out.push(tile("Against now", "×" + num(b.inferences / now.inferences, 3), (now.stage === "find" ? "" : "about ") + num(now.inferences) + " inferences/s now"));
    const listed = t.candidates.filter((c) => t.knobs.every((k) => k.values.includes(String(c.knobs[k.name])))).length; // the present one may not be
    out.push(tile("Measured", listed + " of " + num(t.space), (listed < t.candidates.length ? "and the present one; " : "") + num(t.probes) + " loads"));
    return out;
  }

  // front draws the candidates by capacity and p99. Candidates of one capacity stand on one x: the fastest counts.
  function front(t) {
    const at = new Map();
    for (const c of t.candidates) if (c.inferences && c.p99_ms && !(at.has(c.inferences) && at.get(c.inferences).p99_ms < c.p99_ms)) at.set(c.inferences, c);
    const xs = [...at.keys()].sort((a, b) => a - b);
    if (xs.length < 2) return null;
    const list = xs.map((x) => at.get(x)), only = (f) => list.map((c) => (f(c) ? c.p99_ms : null));
    const series = [
      { name: "Pareto front", values: only((c) => c.pareto), color: 4, points: true, size: 10, span: true },
      { name: "other candidates", values: only((c) => !c.pareto && !same(t, c, t.best) && !c.present), color: 7, width: 0.01, points: true, size: 10 },
      { name: "now", values: only((c) => c.present && !same(t, c, t.best)), color: 1, width: 0.01, points: true, size: 10 },
      { name: "best", values: only((c) => same(t, c, t.best)), color: 2, width: 0.01, points: true, size: 10 },
    ].filter((s) => s.values.some((v) => v !== null));
    return lines({ title: "Capacity and p99", note: "Each point is a candidate, with the p99 at the highest load that holds. No other candidate is better in both than one of the Pareto front.", x: { label: "inferences/s", range: [0, xs[xs.length - 1] * 1.06] }, y: { unit: "ms" }, xs, series, wide: true });
  }

  // effects shows the highest capacity of each value of each knob as a bar.
  function effects(t) {
    const most = Math.max(...t.knobs.flatMap((k) => k.best), 1e-9);
    return [...t.knobs].sort((a, b) => b.ratio - a.ratio).map((k) => el("figure", { class: "chart" },
      el("h3", {}, k.name + (k.ratio ? " ×" + num(k.ratio, 3) : "")),
      el("p", {}, k.ratio ? "The best candidate against the worst one that differs in this knob alone." : "No candidate differs from the best one in this knob alone."),
      el("div", { class: "bars" }, k.values.flatMap((v, i) => [
        el("span", {}, v),
        el("div", { class: "bar" }, el("div", { style: "width:" + (100 * k.best[i]) / most + "%" })),
        el("span", {}, k.best[i] ? num(k.best[i]) : "–"),
      ]))));
  }

  const capacity = (c) => (c.failed ? "none" : c.stage === "find" && c.capacity ? num(c.inferences) : c.low ? num(c.low * c.batch) + (c.high === null ? " or more" : " to " + num(c.high * c.batch)) : c.high === null ? "unknown" : "below " + num(c.high * c.batch));
  const sum = (o) => (o ? Object.values(o).reduce((a, b) => a + b, 0) : 0);

  function candidates(t) {
    const gpu = t.candidates.some((c) => c.gpu);
    const heads = ["inferences/s", "p99", "queue", "compute", ...(gpu ? ["GPU memory", "power"] : []), ...t.knobs.map((k) => k.name), "stage", "loads", "remark"];
    const rows = [...t.candidates].sort((a, b) => b.inferences - a.inferences).map((c) => {
      const s = c.server, best = same(t, c, t.best);
      const remark = [best ? "best" : "", c.limited_by === "client" ? "the client is the limit" : "", c.present ? "now" : "", c.pareto && !best ? "Pareto front" : "", c.failed || ""].filter(Boolean).join(", ");
      return [capacity(c), c.p99_ms ? dur(c.p99_ms) : "", s ? dur(s.queue_ms) : "", s ? dur(s.compute_input_ms + s.compute_infer_ms + s.compute_output_ms) : "",
        ...(gpu ? [c.gpu ? num(sum(c.gpu.memory_used_bytes) / 1e6) + " MB" : "", c.gpu ? num(sum(c.gpu.power_watts)) + " W" : ""] : []),
        ...t.knobs.map((k) => String(c.knobs[k.name])), c.stage, num(c.probes), { text: remark, cls: c.failed ? "text bad" : best ? "text good" : "text" }];
    });
    return table(heads, rows, "full");
  }

  // section is all of a search.
  function section(t) {
    return [
      t.reason ? el("p", { class: "note" }, "Not everything was measured: " + t.reason) : null,
      (t.remarks || []).length ? el("p", { class: "note" }, t.remarks.join(". ") + ".") : null,
      el("div", { class: "tiles" }, answer(t)),
      even(el("div", { class: "grid" }, front(t), t.best ? effects(t) : [])), candidates(t),
      ...(t.configs || []).flatMap((c) => [
        c.diff ? el("details", { open: "" }, el("summary", {}, "What changes in the configuration of " + c.model), el("pre", {}, c.diff)) : null,
        el("details", {}, el("summary", {}, "config.pbtxt of " + c.model), el("pre", {}, c.text)),
      ]),
    ];
  }

  return { section };
})();
