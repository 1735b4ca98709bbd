"use strict";
// finding draws the search of 'redline find': the answer, a curve for each objective, and every probe with its decision.
const finding = (() => {
  const { el, num, dur, table, lines, even } = charts;
  const classes = { holds: "good", fails: "bad", "client limit": "warn", unknown: "warn" };
  const units = { rate: "requests/s", concurrency: "in flight", users: "users" };

  const tile = (name, value, note) => el("div", { class: "tile" }, el("span", {}, name), el("b", {}, value), note ? el("i", {}, note) : null);
  const range = (iv) => (iv.high === null ? "at least " + num(iv.low) : num(iv.low) + " to " + num(iv.high));

  // answer shows what was found for one tier.
  function answer(a, unit, many) {
    const who = many ? "Capacity, " + a.tier : "Capacity";
    const out = [a.capacity ? tile(who, num(a.capacity.value) + " " + unit, range(a.capacity) + (a.confirmed ? ", confirmed" : ", not confirmed")) : tile(who, "none", a.outcome + (a.bracket.low ? "; holds up to " + num(a.bracket.low) : ""))];
    if (a.binding) out.push(tile("Fails first", a.binding, a.limited_by ? "limited by the " + a.limited_by : ""));
    if (a.knee) out.push(tile("Knee", num(a.knee) + " " + unit, "above it latency grows faster than the load"));
    return out;
  }

  const bound = (objective) => { const m = /(?:<=?|>=?)\s*([0-9.eE_+-]+)\s*(ns|us|µs|ms|s)?/.exec(objective); return m ? Number(m[1].replaceAll("_", "")) * ({ ns: 1e-6, us: 1e-3, "µs": 1e-3, s: 1e3 }[m[2]] || 1) : null; };

  // chart draws the metric of one objective over the load. Probes of one load stand on one x: the last one counts.
  function chart(f, index) {
    const at = new Map();
    for (const p of f.probes) if (p.figures[index] && p.figures[index].value !== null) at.set(p.load, p);
    const xs = [...at.keys()].sort((a, b) => a - b);
    if (!xs.length) return null;
    const list = xs.map((x) => at.get(x)), of = (p) => p.figures[index];
    const objective = of(list[0]).objective, limit = bound(objective);
    const end = (name) => list.map((p) => (of(p).interval ? of(p).interval[name] : null));
    const only = (...names) => list.map((p) => (names.includes(p.decision) ? of(p).value : null));
    const series = [
      { name: objective.replace(/[<>].*/, ""), values: list.map((p) => of(p).value), color: 0, points: false, span: true },
      { name: "interval, low", values: end("low"), color: 0, dash: [2, 3], width: 0.8, points: false, span: true },
      { name: "interval, high", values: end("high"), color: 0, dash: [2, 3], width: 0.8, points: false, span: true },
      { name: "holds", values: only("holds"), color: 4, width: 0.01, points: true },
      { name: "fails", values: only("fails"), color: 2, width: 0.01, points: true },
      { name: "client limit", values: only("client limit", "unknown"), color: 7, width: 0.01, points: true },
      { name: "limit", values: xs.map(() => limit), color: 7, dash: [6, 3], width: 1, points: false },
    ].filter((s) => s.values.some((v) => v !== null));
    const knee = f.knee && objective === f.binding ? " The knee is at " + num(f.knee) + "." : "";
    const bands = f.capacity && f.capacity.high !== null ? [[f.capacity.low, f.capacity.high]] : undefined;
    return lines({ title: objective, note: "Each point is a load; green holds, red fails, gray is undecided or the client's limit. The shaded loads are the interval of the capacity." + knee, x: { label: units[f.by] || f.by, loads: true }, y: { unit: of(list[0]).unit === "ms" ? "ms" : "plain" }, xs, series, bands, wide: true });
  }

  const figures = (p) => p.figures.map((g) => (g.value === null ? "–" : (g.unit === "ms" ? dur(g.value) : num(g.value) + (g.unit === "%" ? " %" : "")))).join(", ");

  function probes(f) {
    const heads = ["probe", units[f.by] || f.by, "purpose", "time", "requests", f.probes.length ? f.probes[0].figures.map((g) => g.objective.replace(/[<>].*/, "")).join(", ") : "", "decision", "why"];
    return table(heads, f.probes.map((p, i) => [String(i + 1), num(p.load), p.purpose, dur(p.seconds * 1000), num(p.requests), figures(p), { text: p.decision + (p.sure ? "" : "?"), cls: classes[p.decision] }, { text: p.why, cls: "text" }]), "full");
  }

  // section is all of a search.
  function section(f) {
    const tiers = f.tiers && f.tiers.length ? f.tiers : [f];
    const grid = el("div", { class: "grid" }, f.probes.length ? f.probes[0].figures.map((_, i) => chart(f, i)) : null);
    return [
      f.reason ? el("p", { class: "note" }, "The search is not complete: " + f.reason) : null,
      f.preset ? el("p", { class: "note" }, "MLPerf-like (" + f.preset + "); not an MLPerf result.") : null,
      el("div", { class: "tiles" }, tiers.flatMap((t) => answer(t, units[f.by] || f.by, tiers.length > 1))),
      even(grid), probes(f),
    ];
  }

  return { section };
})();
