"use strict";
// finding draws the search of 'redline find': the answer, a curve for each objective, and every probe with its decision.
const finding = (() => {
  const { el, num, rate, dur, durTick, percent, lasted, css, color, table, lines, even } = charts;
  const units = { rate: "requests/s", concurrency: "in flight", users: "users" };
  const heads = { rate: "requests per second", concurrency: "concurrency", users: "users" };
  // How probes look, by decision: a color and a shape. A shape is filled if the decision is sure.
  const looks = { holds: ["good", "●", "○"], fails: ["bad", "■", "□"], "client limit": ["warn", "▲", "△"], unknown: ["warn", "▲", "△"] };
  const outcomes = { "client limit": "the client reached its limit first", "none holds": "an objective fails even at the lowest load", open: "no load has held so far" };
  // What failed, in words.
  const failed = (binding) => ({ backlog: "the backlog grew", "server down": "the server went down" }[binding] || metricOf(binding));
  const formats = { ms: dur, "%": percent };
  const figure = (g, v) => (v === null || v === undefined ? "–" : (formats[g.unit] || num)(v));

  // tickOf is a value without zeros at its end.
  const tickOf = (g, v) => (g.unit === "ms" ? durTick(v) : figure(g, v));

  const tile = (name, value, note) => el("div", { class: "tile" }, el("span", {}, name), el("b", {}, value), note ? el("i", {}, note) : null);
  const range = (c) => (c.low === 0 && c.high === null ? "no load surely holds or fails" : (c.high === null ? "at least " + num(c.low) : "between " + num(c.low) + " and " + num(c.high)) + " with " + percent(c.level * 100).replace(" ", "\u00a0") + " confidence");
  const none = (a) => (outcomes[a.outcome] || a.outcome) + (a.fails_at ? "; fails at " + num(a.fails_at) : "");
  const held = (a) => (a.held ? "held in " + lasted(a.held.seconds) + ", " + num(a.held.requests) + " requests" + (a.unsure ? "; not sure: " + a.unsure : "") : "");
  const atLeast = (a) => (a.confirmed && a.outcome === "found" ? "" : "at least ");
  const metricOf = (objective) => objective.replace(/\s*[<>].*/, "");

  // answer shows what was found: tiles for one tier, a row each for several.
  function answer(f, tiers) {
    const unit = units[f.by] || f.by, seconds = f.probes.reduce((n, p) => n + p.seconds, 0);
    const a = tiers[0], load = (v) => [num(v), el("small", {}, " " + unit)];
    if (tiers.length > 1) {
      const rows = tiers.map((t) => [t.tier, t.capacity ? atLeast(t) + num(t.capacity.value) + " " + unit : "not known", t.capacity ? range(t.capacity) : none(t), t.confirmed ? "yes" : "no", t.fails_at ? "at " + num(t.fails_at) + ": " + failed(t.binding) : t.client_limit_at ? "client limit at " + num(t.client_limit_at) : "", t.objectives.join(", ")]);
      return table(["tier", "capacity", "interval", "confirmed", "fails above it", "objectives"], rows, "full");
    }
    return el("div", { class: "tiles" },
      a.capacity ? tile("Capacity", [atLeast(a), ...load(a.capacity.value)], range(a.capacity)) : tile("Capacity", a.outcome === "none holds" ? "below the lowest load" : "not known", none(a)),
      a.capacity ? tile("Confirmed", a.confirmed ? "yes" : "no", held(a)) : null,
      a.fails_at ? tile("Fails at", load(a.fails_at), failed(a.binding)) : null,
      a.client_limit_at ? tile("Client limit at", load(a.client_limit_at), "nothing is known of the server above it") : null,
      a.outcome === "all hold" && a.binding ? tile("Nearest to its limit", metricOf(a.binding), "objective " + a.binding) : null,
      a.knee ? tile("Knee", load(a.knee), "above it, latency grows faster than the load") : null,
      tile("Probes", num(f.probes.length), "in " + lasted(seconds)));
  }

  // bound is the limit of an objective, in the unit of its metric.
  const bound = (objective) => { const m = /(?:<=?|>=?)\s*([0-9.eE_+-]+)\s*(ns|us|µs|ms|s)?/.exec(objective); return m ? Number(m[1].replaceAll("_", "")) * ({ ns: 1e-6, us: 1e-3, "µs": 1e-3, s: 1e3 }[m[2]] || 1) : null; };

  // decisionOf is the decision of a probe for a tier.
  const decisionOf = (p, tier) => (p.tiers || []).find((t) => t.tier === tier) || p;

  // chart draws the metric of one objective of a tier over the load: a mark for every probe, and a line through the last probe
  // of each load that says something about the server.
  function chart(f, a, objective) {
    const marks = f.probes.map((p) => ({ p, g: p.figures.find((x) => x.objective === objective), d: decisionOf(p, a.tier) })).filter((m) => m.g && m.g.value !== null);
    if (!marks.length) return null;
    const g = marks[0].g, limit = bound(objective), last = new Map();
    for (const m of marks) if (m.d.decision !== "client limit" || !last.has(m.p.load)) last.set(m.p.load, m);
    const xs = [...last.keys()].sort((x, y) => x - y), list = xs.map((x) => last.get(x)), end = (name) => list.map((m) => (m.g.interval ? m.g.interval[name] : null));
    const shown = (m) => (m.d.decision === "client limit" ? null : m.g.value);
    const series = [
      { name: metricOf(objective), values: list.map(shown), color: 0, points: false, span: true },
      { name: "from", values: end("low"), mute: true }, { name: "to", values: end("high"), mute: true },
    ].filter((s) => s.values.some((v) => v !== null));
    const first = xs[0], most = xs[xs.length - 1], pad = 0.06 * (most - first) || 0.1 * most;
    const knee = objective === a.binding ? a.knee : null;
    const include = [limit, ...marks.map((m) => m.g.value)].filter((v) => v !== null);
    return lines({
      title: objective, note: a.capacity && a.capacity.high !== null ? "The shaded loads are the interval of the capacity." : "One mark for each probe, over its load.",
      x: { label: heads[f.by] || f.by, log: true, splits: f.by === "rate" ? undefined : xs, range: most >= 10 * first ? [first / 1.15, most * 1.15] : [first - pad, most + pad] }, y: { unit: formats[g.unit] ? g.unit : "plain", include, room: 1.35 }, xs, series,
      bands: a.capacity && a.capacity.high !== null ? [[a.capacity.low, a.capacity.high]] : undefined,
      over: (u) => draw(u, marks, { limit, limitText: "limit " + tickOf(g, limit), capacity: a.capacity && a.capacity.value, knee }), key: legend(marks),
    });
  }

  // legend explains the marks that occur.
  function legend(marks) {
    const seen = (name, sure) => marks.some((m) => looks[m.d.decision] === looks[name] && m.d.sure === sure);
    const items = [];
    for (const [name, text] of [["holds", "holds"], ["fails", "fails"], ["client limit", "client limit or unknown"]]) {
      const [cls, filled, hollow] = looks[name];
      if (seen(name, true)) items.push([cls, filled, text]);
      if (seen(name, false)) items.push([cls, hollow, text + ", not sure"]);
    }
    if (marks.some((m) => m.g.interval)) items.push(["", "┃", Math.round(100 * marks.find((m) => m.g.interval).g.interval.level) + " % interval" + (marks.some((m) => m.g.interval && m.g.interval.high === null) ? ", dashed if it has no upper end" : "")]);
    return el("div", { class: "key" }, items.map(([cls, glyph, text]) => el("span", {}, el("b", { class: cls }, glyph), text)));
  }

  // draw puts limit, capacity, knee, intervals and probes on a chart.
  function draw(u, marks, at) {
    const ctx = u.ctx, px = devicePixelRatio, { left, top, width, height } = u.bbox, size = 12 * px;
    const across = (v) => u.valToPos(v, "x", true), up = (v) => Math.max(top, Math.min(top + height, u.valToPos(v, "y", true)));
    const line = (dash, paint, ...points) => {
      ctx.strokeStyle = paint;
      ctx.setLineDash(dash.map((d) => d * px));
      ctx.beginPath();
      points.forEach(([x, y], i) => (i ? ctx.lineTo(x, y) : ctx.moveTo(x, y)));
      ctx.stroke();
      ctx.setLineDash([]);
    };
    const write = (text, x, y, align) => {
      const w = ctx.measureText(text).width + 4 * px;
      ctx.fillStyle = css("--card"); // lines end at a label
      ctx.fillRect(align === "right" ? x - w + 2 * px : x - 2 * px, y - size * 0.6, w, size * 1.2);
      ctx.fillStyle = css("--ink");
      ctx.textAlign = align;
      ctx.fillText(text, x, y);
    };
    // covers counts the marks and intervals that a text from x, w wide and with its middle at y, would cover.
    const covers = (x, w, y) => marks.filter(({ p, g }) => {
      const at = across(p.load), near = (from, to) => from < y + size && to > y - size;
      return at > x - 6 * px && at < x + w + 6 * px && (near(up(g.value), up(g.value)) || g.interval && near(g.interval.high === null ? top : up(g.interval.high), up(g.interval.low)));
    }).length;
    // The labels of capacity and knee stand on the sides of their lines that face away from each other; a label alone stands where it
    // covers the fewest marks. Both stay inside the chart.
    const upright = (v, row, name, dash, other) => {
      const x = across(v), text = name + " " + num(v), w = ctx.measureText(text).width + 6 * px, y = top + (row + 0.5) * (size + 4 * px);
      if (x < left || x > left + width) return () => {};
      const leftwards = other ? other > v : covers(x - w, w, y) < covers(x, w, y), before = leftwards ? x - left >= w : left + width - x < w;
      line(dash, css("--ink"), [x, top], [x, top + height]);
      return () => write(text, before ? x - 5 * px : x + 5 * px, y, before ? "right" : "left");
    };
    ctx.save();
    ctx.beginPath();
    ctx.rect(left - 6 * px, top, width + 12 * px, height + 6 * px);
    ctx.clip();
    ctx.font = size + "px " + css("--sans");
    ctx.textBaseline = "middle";
    ctx.lineWidth = 1.5 * px;
    if (at.limit !== null) line([6, 3], css("--soft"), [left, up(at.limit)], [left + width, up(at.limit)]);
    const labels = [];
    if (at.capacity) labels.push(upright(at.capacity, 0, "capacity", [], at.knee));
    if (at.knee) labels.push(upright(at.knee, 1, "knee", [2, 3], at.capacity));
    for (const { p, g, d } of marks) if (g.interval) {
      const x = across(p.load), paint = css("--" + looks[d.decision][0]), low = up(g.interval.low), high = g.interval.high === null ? top : up(g.interval.high);
      line(g.interval.high === null ? [4, 3] : [], paint, [x, low], [x, high]); // dashed if it has no upper end
      line([], paint, [x - 4 * px, low], [x + 4 * px, low]);
      if (g.interval.high !== null) line([], paint, [x - 4 * px, high], [x + 4 * px, high]);
    }
    for (const label of labels) label();
    if (at.limit !== null) {
      const y = up(at.limit) - size * 0.8, w = ctx.measureText(at.limitText).width + 12 * px;
      const crossed = (x) => covers(x, w, y) + [at.capacity, at.knee].filter((v) => v && across(v) > x && across(v) < x + w).length;
      const place = [0, 0.25, 0.5, 0.75, 1].map((share) => left + share * (width - w)).sort((a, b) => crossed(a) - crossed(b))[0];
      write(at.limitText, place + 6 * px, y, "left");
    }
    for (const { p, g, d } of marks) mark(ctx, across(p.load), up(g.value), d, px);
    ctx.restore();
  }

  // mark draws one probe.
  function mark(ctx, x, y, d, px) {
    const [cls] = looks[d.decision], r = 4.5 * px;
    ctx.beginPath();
    if (cls === "good") ctx.arc(x, y, r, 0, 7);
    else if (cls === "bad") ctx.rect(x - r, y - r, 2 * r, 2 * r);
    else { ctx.moveTo(x, y - r); ctx.lineTo(x + r, y + r); ctx.lineTo(x - r, y + r); ctx.closePath(); }
    ctx.lineWidth = 1.8 * px;
    ctx.strokeStyle = css("--" + cls);
    ctx.fillStyle = d.sure ? ctx.strokeStyle : css("--card");
    ctx.fill();
    ctx.stroke();
  }

  // probes lists every probe. A question mark says that the decision is not sure.
  function probes(f, tiers) {
    if (!f.probes.length) return null;
    const decided = (d) => ({ text: d.decision + (d.sure || d.decision === "unknown" ? "" : "?"), cls: looks[d.decision][0] });
    const figures = f.probes[0].figures, seen = figures.filter((g, i) => figures.findIndex((x) => metricOf(x.objective) === metricOf(g.objective)) === i);
    const head = ["probe", units[f.by] || f.by, "purpose", "time", "requests", ...seen.map((g) => metricOf(g.objective)), ...tiers.map((t) => (tiers.length > 1 ? t.tier : "decision")), "why"];
    const rows = f.probes.map((p, i) => [num(i + 1), f.by === "rate" ? rate(p.load) : num(p.load), p.purpose, dur(p.seconds * 1000), num(p.requests), ...seen.map((s) => { const g = p.figures.find((x) => x.objective === s.objective); return g ? figure(g, g.value) : "–"; }),
      ...tiers.map((t) => decided(decisionOf(p, t.tier))), { text: p.why + (p.unrecovered ? "; the server had not recovered when the next probe began" : ""), cls: "text" }]);
    return el("div", {}, el("h3", { class: "after" }, "Every probe"), table(head, rows, "full"));
  }

  // section is all of a search. With several tiers, buttons choose the tier of the charts.
  function section(f) {
    const tiers = f.tiers && f.tiers.length ? f.tiers : [f];
    const grid = el("div", { class: "grid" });
    const show = (a) => { grid.className = "grid"; grid.replaceChildren(...a.objectives.map((o) => chart(f, a, o)).filter(Boolean)); even(grid); charts.sweep(); };
    const tools = tiers.length > 1 ? el("div", { class: "tools", role: "group", "aria-label": "tier" }, "Tier:") : null;
    const buttons = tiers.map((t, i) => el("button", { type: "button", on: { click: () => press(i) } }, t.tier));
    const press = (i) => { buttons.forEach((b, j) => b.setAttribute("aria-pressed", String(i === j))); show(tiers[i]); };
    if (tools) tools.append(...buttons);
    press(0);
    return [
      f.reason ? el("p", { class: "note" }, "The search ended early: " + f.reason) : null,
      f.state === "searching" ? el("p", { class: "note" }, "Objectives: " + tiers.map((t) => t.objectives.join(", ")).join("; ") + ". " + (f.next || "")) : null,
      f.preset ? el("p", { class: "note" }, "MLPerf-like (" + f.preset + "); not an MLPerf result.") : null,
      answer(f, tiers), tools, grid, probes(f, tiers),
    ];
  }

  return { section };
})();
