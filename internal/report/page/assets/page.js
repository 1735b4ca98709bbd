"use strict";
// The page: a verdict, the figures that matter, then the charts. One run, or two beside each other.
(() => {
  const { el, num, rate, dur, durTick, lasted, table, lines, curve, stack, join, cycle, even, top } = charts;
  const chosen = {}; // the level that the reader chose, by run
  const at = (summary, p) => { const q = summary.p.find((x) => x[0] === p); return q ? q[1] : null; };
  // enough tells whether n values have a percentile p: one of them at least lies beyond it.
  const enough = (n, p) => n * (100 - p) >= 100 - 1e-6;
  // tailOf is the highest percentile up to p99 that levels with requests have enough of them for.
  const tailOf = (levels) => [99, 95, 90].find((p) => levels.every((l) => !l.requests || enough(l.requests, p))) || 50;
  // pct words a percentile of n latencies. If requests in flight at the end leave it open, it is a lower bound.
  const pct = (summary, p, n) => (!enough(n, p) ? "–" : (summary.at_least && summary.at_least.includes(p) ? "≥ " : "") + dur(at(summary, p)));

  function verdict(run) {
    const state = run.live ? "running" : run.verdict || "unknown";
    const box = el("section", { class: "verdict " + state + (run.untested ? " untested" : ""), "aria-label": "verdict" });
    if (run.live) box.append(el("b", { class: "live" }, "Running"), el("span", {}, ": the results below are those up to now"));
    else box.append(el("b", {}, state), run.verdict ? ": " + run.meaning : "");
    const reasons = run.reasons || [];
    if (run.error && !reasons.some((r) => r.what.includes(run.error))) box.append(el("p", {}, run.error));
    if (reasons.length) box.append(el("ul", {}, reasons.map((r) => el("li", {}, r.what.map((w) => el("div", {}, w)), r.try ? el("div", { class: "try" }, "Try: ", unbroken(r.try)) : null))));
    box.append(...(run.notes || []).map((n) => el("p", {}, n)));
    return box;
  }

  // unbroken keeps the names of options on one line.
  const unbroken = (text) => text.split(/(--[a-z][a-z-]*)/).map((part, i) => (i % 2 ? el("span", { class: "option" }, part) : part));

  // rules shows what the run was held to. Rules that are missed stand at the top of the page, in red; if the run cannot be
  // judged, the miss may be the fault of the client or of an interruption, and the box is yellow.
  function rules(run) {
    const all = run.checks || [];
    if (!all.length) return null;
    const bad = all.filter((c) => !c.ok && !c.unknown), unknown = all.filter((c) => c.unknown), good = all.filter((c) => c.ok);
    const rulesOf = (list) => new Set(list.map((c) => c.rule)).size; // a rule has a check for each of its levels
    const judged = run.judged, total = rulesOf(all);
    const leveled = all.some((c) => c.level); // objectives of a search are about no level
    const rows = (list, cls) => list.map((c) => [c.rule, ...(leveled ? [{ text: c.level || "" }] : []), { text: c.text, cls: "text " + cls }]);
    const head = ["rule", ...(leveled ? [kindOf(run)] : []), "found"];
    const title = bad.length ? rulesOf(bad) + " of " + total + (total === 1 ? " rule" : " rules") + " missed" : unknown.length ? "cannot tell whether the rules hold" : total === 1 ? "the rule holds" : "all " + total + " rules hold";
    const state = !judged ? "unstable" : bad.length ? "failed" : unknown.length ? "unstable" : "valid";
    return el("section", { class: "verdict rules " + state, "aria-label": "rules" }, el("b", {}, title), judged ? null : " and the run cannot be judged: its verdict is " + run.verdict,
      bad.length + unknown.length ? table(head, [...rows(bad, "bad"), ...rows(unknown, "warn")]) : null,
      good.length ? el("details", { open: !bad.length && good.length <= 4 }, el("summary", {}, good.length + (good.length === 1 ? " check passed" : " checks passed")), table(head, rows(good, "good"))) : null);
  }

  // identity says which run this is: label, tool, target, and the command line that makes it again.
  function identity(run) {
    const facts = [run.label, [run.tool, run.version].filter(Boolean).join(" "), run.command, run.model, run.target, run.seconds ? lasted(run.seconds) : ""];
    const chips = facts.map((f, i) => (f ? el("span", { class: i ? "" : "label", title: i ? undefined : "label" }, f) : null));
    return el("div", { class: "identity" }, el("div", { class: "chips" }, chips), run.command_line ? el("code", { title: "command line" }, unbroken(run.command_line)) : null);
  }

  // some is a time of a level; a level without requests has none.
  const some = (l, time) => (l.requests ? dur(time) : "–");

  // trusted tells whether nothing speaks against a level.
  const trusted = (l) => l.state === "stable" || l.state === "stability not tested";
  // best is the level with the highest throughput among those that can be trusted, else among all.
  function best(run) {
    if (run.whole) return run.whole;
    const good = run.levels.filter((l) => trusted(l) && l.requests > 0);
    return (good.length ? good : run.levels).reduce((a, b) => (!a || b.throughput > a.throughput ? b : a), null);
  }

  const metric = (l, tag) => (l.metrics || []).find((m) => m.tag === tag);
  // nameOf is the name of a metric by its tag.
  const nameOf = (run, tag) => (run.levels.map((l) => metric(l, tag)).find(Boolean) || { name: tag.replaceAll("_", " ") }).name;
  const goodputBounds = (run) => (run.goodput || "").split(" ").filter(Boolean).map((b) => { const [tag, v] = b.split(":"); return nameOf(run, tag) + (/throughput/.test(tag) ? " ≥ " + v : " ≤ " + durTick(Number(v))).replaceAll(" ", "\u00a0"); }).join(", ");

  function tiles(run) {
    const b = best(run);
    if (!b) return el("p", { class: "note" }, "No level was measured.");
    const requests = run.levels.reduce((n, l) => n + l.requests, 0), ever = run.levels.reduce((n, l) => n + l.requests_ever, 0), failed = run.levels.reduce((n, l) => n + l.failed_ever, 0);
    const tile = (name, value, note, cls) => el("div", { class: "tile" }, el("span", {}, name), el("b", { class: cls }, value), note ? el("i", {}, note) : null);
    const tail = tailOf([b]), latency = speaks(run) ? "Request Latency" : "Latency", where = run.whole ? "of all classes" : "at " + b.name;
    const out = [
      tile(speaks(run) ? "Request Throughput" : "Throughput", rate(b.throughput) + " /s", where),
      tile(latency + " p50", some(b, at(b.latency, 50) ?? b.latency.avg), where),
      tail > 50 ? tile(latency + " p" + tail, pct(b.latency, tail, b.requests), where + (b.open ? ", from the schedule" : "")) : tile(latency + ", longest", some(b, b.latency.max), b.requests ? "p90 needs 10 requests" : "no request succeeded"),
      tile("Requests", num(requests), (run.classes ? run.classes.length + " classes" : run.levels.length + (run.levels.length === 1 ? " level" : " levels")) + (run.seconds ? ", " + lasted(run.seconds) : "")),
      tile("Failed", failed ? num(failed) : "none", failed ? num((100 * failed) / ever, 3) + " % of all requests" : "of " + num(requests) + " requests", failed ? "bad" : null),
    ];
    const first = [];
    for (const tag of ["time_to_first_token", "inter_token_latency", "output_token_throughput"]) {
      const m = metric(b, tag);
      if (m) first.push(tile(m.name, m.unit === "ms" ? dur(m.avg) : rate(m.avg) + " tokens/s", (m.unit === "ms" ? "average" : "in all") + ", " + where));
    }
    const good = metric(b, "goodput"), share = metric(b, "good_request_fraction");
    if (good) first.push(tile("Goodput", rate(good.avg) + " /s", (share ? num(share.avg * 100, 3) + " % kept " : "") + (goodputBounds(run) || "the bounds")));
    return el("div", { class: "tiles" }, first, out);
  }

  // A run of a language model counts requests, whatever their batches and tokens are; others count inferences.
  const speaks = (run) => run.levels.some((l) => (l.metrics || []).length);
  const counted = (runs) => (runs.every(speaks) ? "requests" : runs.some(speaks) ? "requests or inferences" : "inferences");

  const tag = (run, runs) => (runs.length > 1 ? run.mark + " " : "");
  const loadName = (runs) => (runs.every((r) => r.levels.every((l) => l.open)) ? "requested rate" : runs.some((r) => r.levels.some((l) => l.open)) ? "load" : "concurrency");

  // overview draws all levels together: the figures of language models against the load first.
  function overview(runs) {
    const many = runs.some((r) => r.levels.length > 1 && !r.classes); // classes are no points of one curve
    const grid = el("div", { class: "grid" }, many ? tokenLoads(runs) : null, many ? null : tokenCurves(runs), many ? knee(runs) : null, latencyCurve(runs, !many), many ? tokenCurves(runs) : null);
    const served = runs.flatMap((run) => run.levels.filter((l) => l.server && l.requests).map((l) => ({ run, l })));
    if (served.length) grid.append(serverBars(served, runs));
    return even(grid);
  }

  // Lines differ in dash pattern. Those of one run differ in color too; those of two runs have the color of their run.
  const dashes = [[], [6, 3], [2, 3]];
  const lineOf = (r, i, runs) => ({ color: runs.length > 1 ? r : i, dash: dashes[i] });
  // Distributions of two runs with several levels have the color of their level and the dash pattern of their run; undefined for others.
  const levelLine = (r, i, runs) => (runs.length > 1 && runs.some((run) => run.levels.length > 1) ? { color: i % 8, dash: dashes[r] } : undefined);

  // against draws figures of all levels over their load. stats: [name, value of a level].
  function against(runs, title, note, unit, stats) {
    const parts = runs.flatMap((run, r) => stats.map(([name, of], i) => {
      const list = run.levels.map((l) => [l.load, of(l)]).filter(([, v]) => v !== null && v !== undefined);
      return { name: tag(run, runs) + name, ...lineOf(r, i, runs), xs: list.map((p) => p[0]), ys: list.map((p) => p[1]) };
    })).filter((p) => p.xs.length);
    if (!parts.length) return null;
    const { xs, columns } = join(parts);
    return lines({ title, note, x: { label: loadName(runs), loads: true }, y: { unit }, xs, series: parts.map((p, i) => ({ name: p.name, values: columns[i], color: p.color, dash: p.dash, span: true, points: true })) });
  }

  function tokenLoads(runs) {
    if (!runs.some(speaks)) return [];
    const of = (tag, p) => (l) => { const m = metric(l, tag); return m && stat(m, p); };
    const bounds = [...new Set(runs.map(goodputBounds).filter(Boolean))];
    return [
      against(runs, "Time to First Token against load", "From the send, or the schedule, to the first token.", "ms", [["p50", of("time_to_first_token", 50)], ["p99", of("time_to_first_token", 99)]]),
      against(runs, "Inter Token Latency against load", "The mean time of a response from a token to the next.", "ms", [["average", of("inter_token_latency", "avg")], ["p99", of("inter_token_latency", 99)]]),
      against(runs, "Output Token Throughput against load", "Of all responses together.", "plain", [["tokens/s", of("output_token_throughput", "avg")]]),
      bounds.length ? against(runs, "Goodput against load", "Requests per second, and those that kept " + bounds.join(" or ") + ".", "plain", [["goodput/s", of("goodput", "avg")], ["all requests/s", (l) => l.throughput]]) : null,
    ];
  }

  // knee draws throughput against latency. It connects the levels by their load.
  function knee(runs) {
    const lists = [];
    runs.forEach((run, r) => [50, 90, 99].forEach((p, i) => {
      const points = run.levels.filter((l) => at(l.latency, p) > 0 && enough(l.requests, p)).map((l) => ({ x: l.throughput, y: at(l.latency, p), label: l.name, short: num(l.load) }));
      if (points.length) lists.push({ run, name: tag(run, runs) + "p" + p, ...lineOf(r, i, runs), points });
    }));
    if (!lists.length) return null;
    lists.forEach((l, i) => { l.labeled = l.run !== lists[i + 1]?.run; }); // the highest curve of each run
    return curve({ title: "Throughput and latency", note: "Each point is a level; the number beside it is its " + loadName(runs) + ". Lines connect the levels by their load. Drag to zoom, double-click to go back.", wide: true, x: { label: counted(runs) + " per second", per: counted(runs) + " per second" }, y: { label: "latency", unit: "ms" }, lists });
  }

  const nines = (share) => -Math.log10(Math.max(1e-9, 1 - share));
  const nineLabel = (x) => { const p = 100 * (1 - 10 ** -x); return "p" + Number(p.toPrecision(x > 3.5 ? 7 : 4)); };
  const ninesAt = [0, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.99999, 0.999999, 0.9999999].map(nines);
  const mostLines = 16;

  // percentiles draws distributions on a scale of nines. parts: [{name, n, xs, ys, line}], n the number of values behind a
  // line, line its color and dash pattern if they are not those of its place in the list.
  function percentiles(title, all, wide) {
    if (!all.length) return null;
    const parts = all.slice(0, mostLines), { xs, columns } = join(parts);
    const fewest = Math.min(...parts.map((p) => p.n));
    return lines({
      title, note: "The share of requests that were at least as fast, on a scale of nines" + (all.length > parts.length ? "; the first " + mostLines + " levels" : "") + "." + (fewest < 100 ? " Few requests: the smallest level has " + fewest + "." : ""), wide, height: 320,
      x: { label: "percentile", format: nineLabel, splits: ninesAt, range: [0, Math.max(1, xs[xs.length - 1] * 1.03)] },
      y: { unit: "ms" }, xs, series: parts.map((p, i) => ({ name: p.name, values: columns[i], ...(p.line || cycle(i)), span: true, points: p.n < 60 })),
    });
  }

  function latencyCurve(runs, wide) {
    const parts = runs.flatMap((run, r) => run.levels.filter((l) => l.cdf[0].length).map((l, i) => {
      const [xs, ys] = l.cdf, n = Math.max(1, l.requests);
      return { name: tag(run, runs) + l.name, n, xs: [0, ...ys.map((y, i) => nines(i === ys.length - 1 ? 1 - 0.5 / n : y))], ys: [l.latency.min, ...xs], line: levelLine(r, i, runs) };
    }));
    return percentiles("Latency by percentile", parts, wide);
  }

  // tokenCurves are the distributions of the first token and of the next ones, as far as there are values behind them.
  function tokenCurves(runs) {
    return ["time_to_first_token", "inter_token_latency"].map((name) => {
      const parts = runs.flatMap((run, r) => run.levels.map((l) => ({ l, m: metric(l, name) })).filter((x) => x.m && x.m.percentiles).map(({ l, m }, i) => {
        const shown = m.percentiles.filter((q) => enough(m.count, q.p));
        return { name: tag(run, runs) + l.name, n: m.count, xs: shown.map((q) => nines(q.p / 100)), ys: shown.map((q) => q.v), line: levelLine(r, i, runs) };
      })).filter((p) => p.xs.length);
      return percentiles(parts.length ? nameOf(runs[0], name) + " by percentile" : "", parts);
    });
  }

  function serverBars(list, runs) {
    const rows = [];
    for (const { run, l } of list) {
      const s = l.server, known = s.queue + s.input + s.infer + s.output + s.overhead;
      rows.push({ name: tag(run, runs) + l.name, parts: [s.queue, s.input + s.infer + s.output, s.overhead, Math.max(0, (l.call || l.latency.avg) - known)] });
    }
    return stack({ title: "Where the time of a request goes", note: "The server's own times, and the rest of the client's average: network and client.", rows, names: ["queue", "compute", "server overhead", "network and client"], colors: [1, 0, 3, 7] });
  }

  // lasting tells whether a level has a course: one slice of time is a single point.
  const lasting = (l) => l.time && l.time.ended.length > 1;

  // levels shows one level over time; buttons choose the level, or the class.
  function levels(run) {
    const timed = [...(run.whole ? [run.whole] : []), ...run.levels].filter(lasting);
    const section = el("section", {});
    const place = el("div", { class: "grid" });
    const show = (l) => { place.replaceChildren(...overTime(l, l === run.whole ? run.levels : [l])); even(place); charts.sweep(); };
    if (timed.length > 1) {
      const tools = el("div", { class: "tools", role: "group", "aria-label": run.classes ? "class" : "level" }, run.classes ? "Class:" : "Level:");
      const buttons = timed.map((l, i) => el("button", { type: "button", "aria-pressed": "false", on: { click: () => { chosen[run.mark] = l.name; press(i); } } }, l.name));
      const press = (i) => { buttons.forEach((b, j) => b.setAttribute("aria-pressed", String(i === j))); show(timed[i]); };
      tools.append(...buttons);
      section.append(tools);
      const wanted = timed.findIndex((l) => l.name === chosen[run.mark]);
      press(wanted >= 0 ? wanted : Math.max(0, timed.indexOf(run.live ? run.newest : best(run))));
    } else show(timed[0]);
    section.append(place);
    return section;
  }

  // overTime draws one level, or all classes together, which is made of levels: the client's numbers, then the server's, with one
  // cursor through all charts.
  function overTime(l, levels) {
    const t = l.time, n = t.ended.length, xs = Array.from({ length: n }, (_, i) => (i + 0.5) * t.step);
    const lines = (o) => charts.lines({ cursor: "time", ...o }), heat = (o) => charts.heat({ cursor: "time", ...o });
    const x = { label: "seconds", format: (v) => num(v, 4), range: [0, n * t.step] };
    const used = (l.windows || []).filter((w) => w.used).map((w) => [w.from, w.to]);
    const shade = used.length ? " The shaded part was measured." : "";
    const out = [
      lines({ title: "Latency over time", note: l.name + (l.open ? ", from the schedule." : ".") + shade, x, y: { unit: "ms" }, xs, bands: used, series: [
        { name: "p50", values: t.p50 }, { name: "p90", values: t.p90 }, { name: "p99", values: t.p99 }, { name: "max", values: t.max, color: 7, width: 1, dash: [3, 3] }] }),
    ];
    if (t.heat && t.heat.length) out.push(heat({ title: "Latency heat map", note: "How many requests had which latency when; darker is more, on a logarithmic scale.", step: t.step, slices: n, cells: t.heat, edges: t.edges, lows: t.lows }));
    const rates = classing.rates(l, levels);
    out.push(lines({ title: "Requests per second", note: rates.note, x, y: { unit: "plain" }, xs: rates.xs, series: rates.series, bands: used }));
    out.push(lines({ title: "In flight", note: "Requests at the server at a time" + (l.health.asked_in_flight && l.load ? "; requested: " + num(l.load) : "") + ".", x, y: { unit: "plain" }, xs, bands: used, series: [{ name: "in flight", values: t.in_flight, fill: true, color: 3 }] }));
    if (t.first_p50) out.push(lines({ title: t.tokens ? "Time to First Token" : "Time to first response", note: "Of the requests that ended then.", x, y: { unit: "ms" }, xs, bands: used, series: [{ name: "p50", values: t.first_p50 }, { name: "p99", values: t.first_p99, color: 2 }] }));
    if (t.gap_p50) out.push(lines({ title: "Inter Chunk Latency", note: "From one event of a response to the next.", x, y: { unit: "ms" }, xs, bands: used, series: [{ name: "p50", values: t.gap_p50 }, { name: "p99", values: t.gap_p99, color: 2 }] }));
    if (t.tokens) out.push(lines({ title: "Output Token Throughput", note: "Tokens per second of all responses together, by the time of their arrival.", x, y: { unit: "plain" }, xs, bands: used, series: [{ name: "tokens", values: t.tokens, fill: true, color: 4 }] }));
    else if (t.events) out.push(lines({ title: "Responses per second", note: "Of streamed responses.", x, y: { unit: "plain" }, xs, bands: used, series: [{ name: "responses", values: t.events, fill: true, color: 4 }] }));
    if (t.failed) out.push(lines({ title: "Failures per second", note: "By class, stacked.", stacked: true, x, y: { unit: "plain" }, xs, bands: used, series: Object.keys(t.failed).sort().map((c, i) => ({ name: c, values: t.failed[c], color: [2, 1, 3, 6, 5, 7][i % 6], fill: true })) }));
    if (l.server_metrics) out.push(...serverCharts(l.server_metrics, x.range, used));
    return out;
  }

  // serverCharts draws the server's metrics over the range of the client's charts: a chart for each quantity, a line for each GPU.
  function serverCharts(m, range, bands) {
    const names = [...new Set(m.lines.map((s) => s.name))];
    return names.map((name) => {
      const list = m.lines.filter((s) => s.name === name && s.y.some((v) => v !== null));
      if (!list.length || m.x.length < 2) return null;
      const own = [...new Set(list.map((s) => s.from))].join(", ");
      return charts.lines({ title: list[0].title + " (" + list[0].unit + ")", note: "The server's " + own + ".", cursor: "time", x: { label: "seconds", format: (v) => num(v, 4), range }, y: { unit: list[0].unit === "ms" ? "ms" : "plain" }, xs: m.x, bands,
        series: list.map((s, i) => ({ name: s.of || "server", values: s.y, ...cycle(i + 3), span: true })) });
    }).filter(Boolean);
  }

  // withServer are the levels that have metrics of the server; in a scenario it is that of all classes.
  const withServer = (run) => [...(run.whole ? [run.whole] : []), ...run.levels].filter((l) => l.server_metrics);

  // serverTable shows the server's metrics of all levels, energy, what is missing, and the metrics without a common name.
  function serverTable(run) {
    const list = withServer(run);
    const unit = (v, u) => (v === null || v === undefined ? "" : u === "ms" ? dur(v) : num(v) + (u === "requests" || u === "inferences" ? "" : " " + u));
    const rows = list.flatMap((l) => l.server_metrics.lines.filter((s) => s.avg !== null).map((s) => [l.name, { text: s.title, cls: "text" }, { text: s.of || "", cls: "text" }, unit(s.avg, s.unit), unit(s.max, s.unit), { text: s.from, cls: "text" }]));
    const energy = list.filter((l) => l.server_metrics.watts).map((l) => [l.name, num(l.server_metrics.watts) + " W", l.server_metrics.joules ? num(l.server_metrics.joules) + " J" : "", l.server_metrics.joules_token ? num(l.server_metrics.joules_token) + " J" : ""]);
    const notes = list.flatMap((l) => (l.server_metrics.notes || []).map((n) => el("li", {}, l.name + ": " + n)));
    const others = list.filter((l) => (l.server_metrics.others || []).length).map((l) => el("details", {}, el("summary", {}, "Other metrics at " + l.name), table(["metric", "average", "highest"], l.server_metrics.others.map((o) => [o.name, num(o.avg) + (o.unit || ""), num(o.max) + (o.unit || "")]))));
    return el("section", {}, rows.length ? table([kindOf(run), "quantity", "GPU", "average", "highest", "the server's name"], rows) : null, energy.length ? table([kindOf(run), "power of all GPUs", "energy per inference", "per output token"], energy) : null, notes.length ? el("ul", { class: "note" }, notes) : null, others);
  }

  // kindOf is what the rows of tables are.
  const kindOf = (run) => (run.classes ? "class" : "level");

  function levelTable(run) {
    const what = kindOf(run), most = Math.max(0, ...run.levels.map((l) => l.requests)), shown = [50, 90, 95, 99, 99.9].filter((p) => enough(most, p));
    const head = [what, "state", "requests", "failed", "throughput /s", "avg", ...shown.map((p) => "p" + p), "max", "std"];
    const state = (l) => (run.live && !l.cdf[0].length ? { text: "running" } : { text: l.state, cls: l.state === "stable" ? "good" : trusted(l) ? "" : "warn" });
    const tails = (l, summary, list) => list.map((p) => pct(summary, p, l.requests));
    const rows = run.levels.map((l) => [l.name, state(l), num(l.requests), l.failed ? { text: num(l.failed), cls: "bad" } : "0", rate(l.throughput), some(l, l.latency.avg), ...tails(l, l.latency, shown), some(l, l.latency.max), some(l, l.latency.std)]);
    const brief = [50, 90, 99].filter((p) => shown.includes(p));
    const short = (name) => table([what, "avg", ...brief.map((p) => "p" + p), "max"], run.levels.filter((l) => l[name] && l[name].max > 0).map((l) => [l.name, dur(l[name].avg), ...tails(l, l[name], brief), dur(l[name].max)]));
    const out = [table(head, rows, "full")];
    if (most && !enough(most, 99)) out.push(el("p", { class: "note" }, "p99 needs 100 requests; the largest level has " + num(most) + "."));
    const held = run.levels.filter((l) => l.hold);
    if (held.length) out.push(el("p", { class: "note" }, "Held by the server: " + held.map((l) => l.name + ": " + l.hold).join("; ") + "."));
    const again = run.levels.filter((l) => l.sent_again);
    if (again.length) out.push(el("p", { class: "note" }, "Sent again, because the server left their connection or refused them before a response: " + again.map((l) => l.name + ": " + num(l.sent_again) + " of " + num(l.requests + l.failed) + " requests").join("; ") + "."));
    if (run.levels.some((l) => l.from_send)) out.push(el("p", { class: "note" }, "Latency above counts from the schedule. From the send alone, which hides a client or a queue that is late:"), short("from_send"));
    if (run.levels.some((l) => l.first)) out.push(el("p", { class: "note" }, "Time to the first response:"), short("first"));
    out.push(...failureTables(run, what));
    const flying = run.levels.filter((l) => l.unfinished);
    if (flying.length) out.push(el("details", {}, el("summary", {}, "In flight at the end, with unknown latency: " + num(flying.reduce((n, l) => n + l.unfinished, 0))),
      table([what, "requests", "oldest"], flying.map((l) => [l.name, num(l.unfinished), dur(l.oldest)]))));
    const windows = el("details", {}, el("summary", {}, "Every window"));
    windows.append(table([what, "from", "to", "requests", "throughput /s", "avg", "p99", ""], run.levels.flatMap((l) => (l.windows || []).map((w) => [l.name, num(w.from) + " s", num(w.to) + " s", num(w.requests), rate(w.throughput), dur(w.avg), dur(w.p99), w.used ? "counts" : ""]))));
    out.push(windows);
    return el("section", {}, out);
  }

  // failureTables shows the most frequent failures; the others are in a table to open.
  const mostFailures = 20;
  function failureTables(run, what) {
    const all = run.levels.flatMap((l) => (l.failures || []).map((f) => ({ count: f.count, row: [l.name, f.class, num(f.count), { text: f.text, cls: "text" }] })));
    if (!all.length) return [];
    const frequent = new Set([...all].sort((a, b) => b.count - a.count).slice(0, mostFailures)), head = [what, "kind", "count", "first text"];
    const part = (shown) => table(head, all.filter((f) => frequent.has(f) === shown).map((f) => f.row), "stacked");
    const out = [el("h3", { class: "after" }, "Failures"), el("p", { class: "note" }, "All of them, those outside the measured windows too."), part(true)];
    if (all.length > frequent.size) out.push(el("details", {}, el("summary", {}, num(all.length - frequent.size) + " rarer failures"), part(false)));
    return out;
  }

  // The metrics of a language model that matter most; the others are in tables to open. A percentile above 50 is the highest that all
  // levels have enough requests for.
  const mainMetrics = [["time_to_first_token", "TTFT", ["avg", 50, 99]], ["inter_token_latency", "ITL", ["avg", 99]], ["request_latency", "latency", ["avg", 99]], ["output_token_throughput_per_user", "tokens/s/user", ["avg"]], ["output_token_throughput", "output tokens/s", ["avg"]], ["goodput", "goodput/s", ["avg"]]];
  const figure = (m, v) => (v === undefined || v === null ? "" : m.unit === "ms" ? dur(v) : m.unit === "sec" ? dur(1000 * v) : num(v));
  // perSecond is a unit as it stands beside numbers; times have theirs behind the number.
  const perSecond = (unit) => (unit === "ms" || unit === "sec" ? "" : unit.replaceAll("/sec", "/s"));
  const quantile = (m, p) => (m.percentiles || []).find((x) => x.p === p);
  // stat is the average or a percentile of a metric; null if there are too few values for it.
  const stat = (m, p) => { if (p === "avg") return m.avg; const q = quantile(m, p); return q && enough(m.count, p) ? q.v : null; };
  const worded = (m, p) => { const v = stat(m, p), q = quantile(m, p); return v === null ? "–" : (q && q.at_least ? "≥ " : "") + figure(m, v); };

  function tokens(run) {
    const list = run.levels.filter((l) => (l.metrics || []).length);
    const tail = tailOf(list), stated = (stats) => stats.map((s) => (s === 99 ? tail : s)).filter((s, i, all) => all.indexOf(s) === i && (s !== 50 || all.length > 2));
    const shown = mainMetrics.filter(([tag]) => list.some((l) => metric(l, tag))).map(([tag, name, stats]) => [tag, name, stated(stats)]);
    const head = [kindOf(run), ...shown.flatMap(([, name, stats]) => stats.map((s) => name + (stats.length > 1 ? (s === "avg" ? " avg" : " p" + s) : "")))];
    const rows = list.map((l) => [l.name, ...shown.flatMap(([tag, , stats]) => stats.map((s) => { const m = metric(l, tag); return m ? worded(m, s) : ""; }))]);
    return el("section", {}, table(head, rows, "full"), el("p", { class: "note" }, "TTFT is the Time to First Token, ITL the Inter Token Latency."), metricTables(list));
  }

  function metricTables(list) {
    const range = (m, i) => (!i ? "" : i.high === null ? "at least " + figure(m, i.low) : figure(m, i.low) + " – " + figure(m, i.high));
    const ends = (m) => range(m, m.interval);
    const tail = (m, p) => [worded(m, p), range(m, (m.intervals || {})["p" + p])].filter(Boolean).join("\u00a0· ");
    const tables = list.map((l) => {
      const all = l.metrics.filter((m) => !m.tag.includes("timestamp")), dist = all.filter((m) => m.percentiles), single = all.filter((m) => !m.percentiles);
      return el("details", {}, el("summary", {}, "Every metric at " + l.name),
        table(["metric", "unit", "avg", "95 % interval", "min", "p50", "p90", "p95", "p99", "max", "std"], dist.map((m) => [m.name, perSecond(m.unit), figure(m, m.avg), ends(m), figure(m, m.min), ...[50, 90, 95, 99].map((p) => tail(m, p)), figure(m, m.max), figure(m, m.std)]), "full"),
        single.length ? table(["metric", "unit", "value", "95 % interval"], single.map((m) => [m.name, perSecond(m.unit), figure(m, m.avg), ends(m)])) : null);
    });
    return tables.length > 3 ? el("details", { class: "outer" }, el("summary", {}, "Every metric of every level"), tables) : tables;
  }

  function composing(run) {
    const out = [];
    for (const l of run.levels) {
      const parts = l.server && l.server.parts ? l.server.parts : [];
      if (!parts.length) continue;
      const rows = [];
      const walk = (p, depth) => { rows.push({ name: p.name, inner: depth > 0, parts: [p.queue, p.input, p.infer, p.output, p.overhead] }); (p.parts || []).forEach((q) => walk(q, depth + 1)); };
      walk(l.server, 0);
      out.push(stack({ title: "Composing models, " + l.name, note: "Averages of the server's own counters.", rows, names: ["queue", "compute input", "compute infer", "compute output", "overhead"], colors: [1, 4, 0, 5, 3] }));
    }
    return even(el("div", { class: "grid" }, out));
  }

  // measurementError is the client's time minus the server's log, with its sign: cells of p50 and p99.
  function measurementError(e) {
    if (!e) return ["", ""];
    const signed = (ns) => (ns < 0 ? "−" : "+") + dur(Math.abs(ns) / 1e6);
    return [signed(e.p50_ns), (e.p99_at_least ? "≥ " : "") + signed(e.p99_ns)];
  }

  // aboutErrors says of which levels the error is not measured, or was measured with other traffic.
  function aboutErrors(run) {
    const notes = new Map();
    for (const { name, health: h } of run.levels) {
      const e = h.measurement_error;
      const said = e ? [...(e.exact ? [] : ["measured with the nearest calibrated traffic: " + e.of]), ...(e.notes || [])] : ["not measured" + (h.measurement_error_unknown ? ": " + h.measurement_error_unknown : "; --calibrate measures it")];
      for (const n of said) notes.set(n, [...(notes.get(n) || []), name]);
    }
    const whole = (names) => names.length === run.levels.length;
    return [...notes].map(([note, names]) => el("p", { class: "note" }, "Measurement error" + (whole(names) ? ": " : " at " + names.join(", ") + ": ") + note + "."));
  }

  // health leaves out columns without a value, as those of the send lag in closed loop.
  function health(run) {
    const us = (ns) => dur(ns / 1e6);
    const head = [kindOf(run), "send lag p50", "send lag p99", "send lag max", "read lag p99", "rate", "of requested", "in flight", "of requested", "CPU cores", "CPU a request", "machine busy", "GC pause", "scheduler", "dropped", "error p50", "error p99"];
    const rows = run.levels.map((l) => {
      const h = l.health;
      return [l.name, ...(l.open ? [us(h.lag_p50_ns), enough(l.requests, 99) ? us(h.lag_p99_ns) : "", us(h.lag_max_ns)] : ["", "", ""]), h.read_lag ? (enough(l.requests, 99) ? us(h.read_lag.p99_ns) : "") : h.times === "read" ? "not known" : "", rate(h.achieved_rate), h.asked_rate ? rate(h.asked_rate) : "",
        num(h.achieved_in_flight, 3), h.asked_in_flight ? num(l.open || l.changes ? h.asked_in_flight : l.load, 3) : "", num(h.cpu_cores, 2), us(h.cpu_per_request_ns), num(h.machine_share * 100, 3) + " %", us(h.gc_pause_max_ns), us(h.sched_delay_max_ns), num(h.dropped),
        ...measurementError(h.measurement_error)];
    });
    const known = (cells) => cells.filter((c, i) => rows.some((r) => r[i] !== ""));
    return el("div", {}, table(known(head), rows.map(known), "full"), aboutErrors(run));
  }

  const common = [
    ["In flight", "Σ of the times that requests were at the server ÷ the length of the measurement"],
    ["Send lag", "send time − due time of a request"],
    ["Read lag", "the longest time for which a part of a response had arrived, by the kernel's timestamp, and was not read; latencies do not include it"],
    ["Measurement error", "the client's latency − the time in the log of a reference server that is loaded at the pace of the run, on the same machine; for tokens, the stated arrival − the time at which the server sent the token; p99 is an upper bound with 95 % confidence"],
  ];
  const percentile = ["Percentile p", "linear between the two nearest ranks of p/100 · (n−1); from a histogram with an error of at most 0.1 % where there are many values"];
  const formulas = [
    ["Throughput", "inferences (requests × batch size) that succeeded in the merged windows ÷ the length of these windows; with a fixed number of requests without the wait for the last response"],
    ["Latency", "from the send to the last response; in open loop from the due time, so that a late send does not shorten the latency"],
    percentile,
    ["Standard deviation", "√(Σ(x − mean)² ÷ (n − 1))"],
    ["Window", "a request belongs to the window in which it ended; the level is the last three windows merged, once they agree"],
    ["Network and client", "the client's average − queue, compute and overhead by the server's counters"],
    ...common,
  ];
  const tokenFormulas = [
    ["Request Throughput", "complete responses ÷ the time from the first send to the last token; tokens by the same time"],
    ["Request Latency", "from the send to the last event with content; in open loop from the due time, so that a late send does not shorten the latency"],
    ["Time to First Token (TTFT)", "the first event with content − the send, or the due time"],
    ["Inter Token Latency (ITL)", "(last event − first event) ÷ (output tokens − 1)"],
    ["Output Token Throughput Per User", "1 ÷ Inter Token Latency"],
    percentile,
    ["Standard deviation", "√(Σ(x − mean)² ÷ n)"],
    ...common,
  ];
  // formulaList explains the numbers of language models, and of other runs and classes.
  function formulaList(runs) {
    const show = (list) => el("dl", { class: "facts" }, list.flatMap(([k, v]) => [el("dt", {}, k), el("dd", {}, v)]));
    const talks = (l) => (l.metrics || []).length > 0;
    const parts = runs.flatMap((run) => (run.classes ? run.levels.map((l) => [l.class, talks(l)]) : [[run.mark, speaks(run)]]));
    const kinds = [[parts.filter((p) => p[1]), tokenFormulas], [parts.filter((p) => !p[1]), formulas]].filter(([list]) => list.length);
    return kinds.map(([list, f]) => el("div", {}, kinds.length > 1 ? el("h3", { class: "after" }, list.map((p) => p[0]).join(", ")) : null, show(f)));
  }

  function facts(run) {
    const env = run.environment || {};
    const list = [["Start", run.start], ["Goodput bounds", goodputBounds(run)],
      ["Client machine", [env.hostname, env.os && env.os + "/" + env.arch, env.cpus && env.cpus + " CPUs", env.go].filter(Boolean).join(", ")], ["Workload", run.workload], ["Not sent", (run.lost || []).join("; ")]].filter((x) => x[1]);
    return el("dl", { class: "facts" }, list.flatMap(([k, v]) => [el("dt", {}, k), el("dd", {}, v)]));
  }

  function comparison(c) {
    // Past tenfold a factor says more than per cent, and past a thousand its digits say nothing.
    const pct = (v) => (Math.abs(v) < 5e-4 ? "0 %" : v >= 1000 ? "over ×1,000" : v >= 10 ? "×" + num(1 + v, 3) : (v > 0 ? "+" : "−") + (100 * Math.abs(v)).toFixed(Math.abs(v) >= 1 ? 0 : 1) + " %");
    const cls = { better: "good", worse: "bad" };
    const f = (r, v) => (r.unit === "ms" ? dur(v) : num(v));
    const rows = c.rows.map((r) => [r.level, { text: r.name }, f(r, r.a), f(r, r.b), r.a ? pct(r.change) : "", r.low || r.high ? pct(r.low) + " to " + pct(r.high) : r.why || "", { text: r.finding, cls: cls[r.finding] }]);
    const some = (finding) => c.rows.some((r) => r.finding === finding);
    const state = some("worse") ? (some("better") ? "unstable" : "failed") : some("better") ? "valid" : "";
    return el("section", {}, el("div", { class: "verdict " + state }, el("b", {}, c.headline), (c.remarks || []).length ? el("ul", {}, c.remarks.map((r) => el("li", {}, r))) : null),
      table(["level", "figure", "A", "B", "change", "interval", "finding"], rows, "full"),
      el("p", { class: "note" }, unbroken("A figure is better or worse where its whole interval lies on one side of zero. The intervals allow for the number of figures: of comparisons of equal runs, at most " + num(100 - c.confidence * 100) + " % have one without zero. With --least, the whole interval must lie beyond that change. Where a change of 5 % (or of --least, if that is more) could have gone unseen, the comparison cannot tell.")));
  }

  function section(id, title, note, ...content) {
    return el("section", { id }, el("h2", {}, title), note ? el("p", { class: "note" }, note) : null, content);
  }

  // follow asks for the next state of the run until the run has ended. It leaves a page alone while the reader points at a
  // chart. Pending requests learn the end from the server; a server that was killed cannot tell it.
  async function follow(data) {
    let over = false, seq = data.seq;
    document.addEventListener("pointerover", (e) => { over = !!(e.target.closest && e.target.closest(".chart, .tools")); });
    document.addEventListener("pointerleave", () => { over = false; });
    try {
      for (let live = data.runs[0].live; live;) {
        const next = await (await fetch(data.feed + "?after=" + seq, { cache: "no-store" })).json();
        seq = next.seq;
        live = next.runs[0].live;
        if (!over || !live) render({ ...data, runs: next.runs });
      }
    } catch {
      document.querySelectorAll(".live").forEach((e) => { e.className = ""; e.textContent = "Run ended"; });
    }
  }

  function render(data) {
    const page = document.getElementById("page");
    if (data.list) return page.replaceChildren(...lists.render(data));
    const runs = data.runs;
    runs.forEach((r, i) => {
      r.mark = "AB"[i] || String(i);
      r.newest = r.levels.findLast((l) => l.time);
      if (!r.classes) r.levels.sort((a, b) => a.load - b.load);
    });
    const one = runs.length === 1 ? runs[0] : null;
    const parts = [];
    const named = (r) => r.mark + " " + (r.label ? r.label + " (" + r.name + ")" : r.name);
    const title = one ? [...new Set([one.scenario || one.model || (one.command ? "redline " + one.command : one.name), one.label].filter(Boolean))].join(" · ") : runs.length ? runs.map(named).join(" · ") : data.title;
    parts.push(top(title, one ? [one.start, data.feed && !one.live ? "run ended" : ""].filter(Boolean).join(" · ") : "", data.home));
    const nav = el("nav", { class: "jump", "aria-label": "sections" });
    parts.push(nav);
    const add = (id, name, ...rest) => { nav.append(el("a", { href: "#" + id }, name)); parts.push(section(id, name, ...rest)); };
    // A search begins with its answer, a scenario with its classes; its levels are then the confirmations, or the classes.
    const lead = (run, who, id) => {
      if (run.tune) add("tune" + id, who + "Configurations", "The candidates that the search measured, and the best of them.", ...tuning.section(run.tune));
      if (run.find) add("capacity" + id, who + "Capacity", "The highest load at which the objectives hold.", finding.section(run.find));
      else parts.push(tiles(run));
      if (run.classes) add("classes" + id, who + "Classes", "", classing.section(run, pct));
    };
    const confirmed = (run) => (run.find && run.levels.length ? tiles(run) : null);
    if (one) {
      parts.push(rules(one), verdict(one), identity(one));
      lead(one, "", "");
    }
    if (data.compare) add("compare", "Comparison", "", comparison(data.compare));
    if (runs.some((r) => r.levels.some((l) => l.cdf[0].length))) add("overview", one && one.find ? "Confirmation" : "Overview", one && one.find ? "The load that the search found, sent for longer." : "", one ? confirmed(one) : null, overview(runs));
    for (const run of runs) {
      const who = one ? "" : run.mark + " ";
      const id = one ? "" : "-" + run.mark;
      if (!one) {
        parts.push(el("h2", { class: "side" }, named(run)), rules(run), verdict(run), identity(run));
        lead(run, who, id);
      }
      if (run.levels.some((l) => (l.metrics || []).length)) add("tokens" + id, who + "Tokens", "", tokens(run));
      if (run.levels.some((l) => l.workers)) add("workers" + id, who + "Workers", "", ...working.section(run, run.live ? run.newest : best(run), pct));
      if (run.levels.some(lasting)) add("time" + id, who + "Over time", "Drag across a chart to zoom in, double-click to go back.", levels(run));
      else if (run.levels.some((l) => l.time) && !run.live) add("time" + id, who + "Over time", (run.levels.length > 1 ? "Every level" : "The level") + " ended within " + durTick(run.levels.find((l) => l.time).time.step * 1000) + ", which is too short for charts over time.");
      if (run.levels.length) add("levels" + id, who + (run.classes ? "Latencies" : "Levels"), "", levelTable(run));
      if (run.levels.some((l) => l.server && l.server.parts)) add("models" + id, who + "Composing models", "", composing(run));
      if (run.levels.some((l) => l.traces)) add("traces" + id, who + "Slowest requests", "Where they spent their time, by the traces of client and server.", ...waterfalls.section(run));
      if (withServer(run).length) add("server" + id, who + "Server metrics", "What the server and its GPUs reported in the measured windows. The charts above show them over time.", serverTable(run));
      if (run.levels.length && !run.live) add("client" + id, who + "Client health", "Whether the client kept up. A client at its limit measures itself, not the server.", health(run));
      add("run" + id, who + "Run", "", facts(run), run.plan ? el("details", {}, el("summary", {}, "The plan"), el("pre", {}, JSON.stringify(run.plan, null, 2))) : null,
        ...(run.classes || []).map((c) => el("details", {}, el("summary", {}, "The plan of " + c.name), el("pre", {}, JSON.stringify(c.plan, null, 2)))));
    }
    if (runs.length) add("formulas", "Formulas", "", ...formulaList(runs));
    parts.push(el("footer", {}, data.home ? "Made by redline." : "Made by redline. This file is complete and loads nothing."));
    const y = scrollY;
    page.replaceChildren(...parts.filter(Boolean));
    charts.sweep();
    if (data.feed) scrollTo(0, y);
  }

  const data = JSON.parse(document.getElementById("data").textContent);
  window.redline = { render };
  render(data);
  if (data.feed) follow(data);
})();
