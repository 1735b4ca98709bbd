"use strict";
// The page: a verdict, the figures that matter, then the charts. One run, or two beside each other.
(() => {
  const { el, num, dur, table, lines, curve, heat, stack, join, even } = charts;
  const chosen = {}; // the level that somebody chose, by run
  // pct words a percentile; one that requests in flight at the end leave open is a bound.
  const pct = (summary, p) => (summary.at_least && summary.at_least.includes(p) ? "≥ " : "") + dur(at(summary, p));
  const at = (summary, p) => { const q = summary.p.find((x) => x[0] === p); return q ? q[1] : null; };
  const nines = (share) => -Math.log10(Math.max(1e-9, 1 - share));
  const nineLabel = (x) => { const p = 100 * (1 - 10 ** -x); return "p" + Number(p.toPrecision(x > 3.5 ? 7 : 5)); };
  const ninesAt = [0, nines(0.5), 1, 2, 3, 4, 5, 6, 7];

  const meaning = {
    valid: "the client kept up and every level is stable",
    "client-limited": "the client, not the server, limited some of these numbers",
    unstable: "some levels did not become stable",
    "too-short": "too few requests ended before the measurement did",
    failed: "the run did not complete",
    "server-failed": "too many requests failed",
    interrupted: "the results are those up to the interrupt",
  };

  function verdict(run) {
    const state = run.live ? "running" : run.verdict.state || "unknown";
    const box = el("section", { class: "verdict " + state, "aria-label": "verdict" });
    if (run.live) box.append(el("b", { class: "live" }, "Running"), " ", el("span", {}, "the results below are those up to now"));
    else box.append(el("b", {}, state), " ", meaning[state] || "");
    if (run.error) box.append(el("p", {}, run.error));
    const reasons = merged(run);
    if (reasons.length) box.append(el("ul", {}, reasons.map((r) => el("li", {}, r.what, r.try ? el("span", {}, " Try: " + r.try) : null))));
    return box;
  }

  // merged puts reasons that differ only in their level, or in the numbers of it, on one line.
  function merged(run) {
    const names = run.levels.map((l) => l.name).sort((a, b) => b.length - a.length);
    const groups = new Map();
    for (const r of run.verdict.reasons || []) {
      const name = names.find((n) => r.what.startsWith(n + ": "));
      const text = name ? r.what.slice(name.length + 2) : r.what;
      const like = text.replace(/[0-9.]+(e[+-][0-9]+)?/g, "#") + "\n" + r.try;
      if (!groups.has(like)) groups.set(like, []);
      groups.get(like).push({ name, text, try: r.try });
    }
    return [...groups.values()].map((g) => {
      if (g.length === 1) return { what: (g[0].name ? g[0].name + ": " : "") + g[0].text, try: g[0].try };
      const same = g.every((x) => x.text === g[0].text);
      return { what: same ? g.map((x) => x.name).join(", ") + ": " + g[0].text : g.map((x) => x.name + ": " + x.text).join("; "), try: g[0].try };
    });
  }

  // best is the level with the highest throughput among those that can be trusted, else among all.
  function best(run) {
    const good = run.levels.filter((l) => l.state === "stable" && l.requests > 0);
    return (good.length ? good : run.levels).reduce((a, b) => (!a || b.throughput > a.throughput ? b : a), null);
  }

  function tiles(run) {
    const b = best(run);
    if (!b) return el("p", { class: "note" }, "No level was measured.");
    const requests = run.levels.reduce((n, l) => n + l.requests, 0), failed = run.levels.reduce((n, l) => n + l.failed, 0);
    const tile = (name, value, note) => el("div", { class: "tile" }, el("span", {}, name), el("b", {}, value), note ? el("i", {}, note) : null);
    const out = [
      tile("Throughput", num(b.throughput) + " /s", "at " + b.name),
      tile("Median latency", dur(at(b.latency, 50) ?? b.latency.avg), "there"),
      tile("p99 latency", pct(b.latency, 99), b.open ? "from the schedule" : "there"),
      tile("Requests", num(requests), run.levels.length + (run.levels.length === 1 ? " level" : " levels") + (run.seconds ? ", " + dur(run.seconds * 1000) : "")),
      tile("Failed", failed ? num(failed) : "none", failed ? num((100 * failed) / (requests + failed), 3) + " %" : "of all requests"),
    ];
    for (const [tag, name] of [["time_to_first_token", "First token"], ["inter_token_latency", "Next tokens"], ["output_token_throughput", "Tokens"]]) {
      const m = (b.metrics || []).find((x) => x.tag === tag);
      if (m) out.push(tile(name, m.unit === "ms" ? dur(m.avg) : num(m.avg) + " /s", m.unit === "ms" ? "average" : "in all"));
    }
    return el("div", { class: "tiles" }, out);
  }

  // A run of a language model counts requests, whatever their batches and tokens; others count inferences.
  const speaks = (run) => run.levels.some((l) => (l.metrics || []).length);
  const counted = (runs) => (runs.every(speaks) ? "requests" : runs.some(speaks) ? "requests or inferences" : "inferences");

  const shortName = (l) => num(l.load);
  const tag = (run, runs) => (runs.length > 1 ? run.mark + " " : "");

  function overview(runs) {
    const grid = el("div", { class: "grid" });
    const many = runs.some((r) => r.levels.length > 1);
    if (many) {
      const lists = [];
      const dashes = [[], [5, 3], [2, 3]];
      runs.forEach((run, r) => [50, 90, 99].forEach((p, i) => {
        const points = run.levels.filter((l) => at(l.latency, p) > 0).map((l) => ({ x: l.throughput, y: at(l.latency, p), label: l.name, short: shortName(l) }));
        if (points.length) lists.push({ name: tag(run, runs) + "p" + p, color: runs.length > 1 ? (r ? 1 : 0) : i, dash: runs.length > 1 ? dashes[i] : [], points });
      }));
      grid.append(curve({ title: "Throughput and latency", note: "Each point is a level, joined in the order they were measured. Drag to zoom, double-click to go back.", wide: true, x: { label: counted(runs) + " per second", per: counted(runs) + " per second" }, y: { label: "latency", unit: "ms" }, lists }));
    }
    const parts = [];
    let c = 0;
    runs.forEach((run) => run.levels.forEach((l) => {
      const [xs, ys] = l.cdf;
      if (!xs.length) return;
      const n = l.requests;
      parts.push({ name: tag(run, runs) + l.name, color: c++, xs: ys.map((y, i) => nines(i === ys.length - 1 ? 1 - 0.5 / Math.max(1, n) : y)), ys: xs });
    }));
    if (parts.length) {
      const shown = parts.slice(0, 16);
      const { xs, columns } = join(shown);
      grid.append(lines({
        title: "Latency by percentile", note: "The share of requests that were at least as fast, on a scale of nines" + (parts.length > shown.length ? "; the first 16 levels" : "") + ".", wide: !many, height: 320,
        x: { label: "percentile", format: nineLabel, splits: (u, i, a, b) => ninesAt.filter((v) => v >= a - 1e-9 && v <= b + 1e-9) },
        y: { label: "latency", unit: "ms", log: true }, xs, series: shown.map((p, i) => ({ name: p.name, values: columns[i], color: p.color, span: true })),
      }));
    }
    const served = runs.flatMap((run) => run.levels.filter((l) => l.server && l.requests).map((l) => ({ run, l })));
    if (served.length) grid.append(serverBars(served, runs));
    return even(grid);
  }

  function serverBars(list, runs) {
    const rows = [];
    for (const { run, l } of list) {
      const s = l.server, known = s.queue + s.input + s.infer + s.output + s.overhead;
      rows.push({ name: tag(run, runs) + l.name, parts: [s.queue, s.input + s.infer + s.output, s.overhead, Math.max(0, (l.call || l.latency.avg) - known)] });
    }
    return stack({ title: "Where the time of a request goes", note: "The server's own times, and the rest of the client's average: network and client.", rows, names: ["queue", "compute", "server overhead", "network and client"], colors: [1, 0, 3, 7] });
  }

  // level shows one level over time; several are chosen from by buttons.
  function levels(run) {
    const timed = run.levels.filter((l) => l.time);
    const section = el("section", {});
    if (!timed.length) return section;
    const place = el("div", { class: "grid" });
    const show = (l) => { place.replaceChildren(...overTime(l)); even(place); charts.sweep(); };
    if (timed.length > 1) {
      const tools = el("div", { class: "tools", role: "group", "aria-label": "level" }, "Level:");
      const buttons = timed.map((l, i) => el("button", { type: "button", "aria-pressed": "false", on: { click: () => { chosen[run.mark] = l.name; press(i); } } }, l.name));
      const press = (i) => { buttons.forEach((b, j) => b.setAttribute("aria-pressed", String(i === j))); show(timed[i]); };
      tools.append(...buttons);
      section.append(tools);
      const wanted = timed.findIndex((l) => l.name === chosen[run.mark]);
      press(wanted >= 0 ? wanted : run.live ? timed.length - 1 : Math.max(0, timed.indexOf(best(run))));
    } else show(timed[0]);
    section.append(place);
    return section;
  }

  function overTime(l) {
    const t = l.time, n = t.ended.length, xs = Array.from({ length: n }, (_, i) => (i + 0.5) * t.step);
    const x = { label: "seconds", format: (v) => num(v, 4) };
    const used = (l.windows || []).filter((w) => w.used).map((w) => [w.from, w.to]);
    const shade = used.length ? " The shaded part was measured." : "";
    const out = [
      lines({ title: "Latency over time", note: l.name + (l.open ? ", from the schedule." : ".") + shade, x, y: { unit: "ms", log: true }, xs, bands: used, series: [
        { name: "p50", values: t.p50 }, { name: "p90", values: t.p90 }, { name: "p99", values: t.p99 }, { name: "max", values: t.max, color: 7, width: 1, dash: [3, 3] }] }),
    ];
    if (t.heat && t.heat.length) out.push(heat({ title: "Latency heat map", note: "How many requests had which latency when; darker is more, on a logarithmic scale.", step: t.step, slices: n, cells: t.heat, edges: t.edges, lows: t.lows }));
    const rates = [{ name: "ended", values: t.ended }, { name: "sent", values: t.sent, color: 4, width: 1 }];
    if (t.asked) rates.push({ name: "requested", values: t.asked, color: 7, dash: [4, 3] });
    out.push(lines({ title: "Requests per second", note: t.asked ? "Achieved rate, and the rate of the schedule." : "", x, y: { unit: "plain" }, xs, series: rates, bands: used }));
    out.push(lines({ title: "In flight", note: l.health.asked_in_flight ? "Mean number of requests in flight; requested: " + num(l.health.asked_in_flight) + "." : "Mean number of requests in flight.", x, y: { unit: "plain" }, xs, bands: used, series: [{ name: "in flight", values: t.in_flight, fill: true, color: 3 }] }));
    if (t.first_p50) out.push(lines({ title: t.tokens ? "Time to first token" : "Time to first response", note: "Of the requests that ended in each slice.", x, y: { unit: "ms", log: true }, xs, bands: used, series: [{ name: "p50", values: t.first_p50 }, { name: "p99", values: t.first_p99, color: 2 }] }));
    if (t.gap_p50) out.push(lines({ title: "Time between tokens", note: "Time from one chunk of a response to the next, at arrival.", x, y: { unit: "ms", log: true }, xs, bands: used, series: [{ name: "p50", values: t.gap_p50 }, { name: "p99", values: t.gap_p99, color: 2 }] }));
    if (t.tokens) out.push(lines({ title: "Tokens per second", note: "Of all responses together, at arrival.", x, y: { unit: "plain" }, xs, bands: used, series: [{ name: "tokens", values: t.tokens, fill: true, color: 4 }] }));
    else if (t.events) out.push(lines({ title: "Responses per second", note: "Of streamed answers.", x, y: { unit: "plain" }, xs, bands: used, series: [{ name: "responses", values: t.events, fill: true, color: 4 }] }));
    if (t.failed) out.push(lines({ title: "Failures per second", note: "By class, stacked.", stacked: true, x, y: { unit: "plain" }, xs, bands: used, series: Object.keys(t.failed).sort().map((c, i) => ({ name: c, values: t.failed[c], color: [2, 1, 3, 6, 5, 7][i % 6], fill: true })) }));
    return out;
  }

  function levelTable(run) {
    const head = ["level", "", "requests", "failed", "throughput /s", "avg", "p50", "p90", "p95", "p99", "p99.9", "max", "std"];
    const rows = run.levels.map((l) => [l.name, run.live && !l.cdf[0].length ? { text: "running" } : { text: l.state, cls: l.state === "stable" ? "good" : "warn" }, num(l.requests), l.failed ? { text: num(l.failed), cls: "bad" } : "0", num(l.throughput), dur(l.latency.avg), ...[50, 90, 95, 99, 99.9].map((p) => pct(l.latency, p)), dur(l.latency.max), dur(l.latency.std)]);
    const out = [table(head, rows, "full")];
    const flying = run.levels.filter((l) => l.unfinished);
    if (flying.length) out.push(el("p", { class: "note" }, "Requests in flight at the end, with unknown latency: " + flying.map((l) => l.name + ": " + num(l.unfinished) + ", the oldest for " + dur(l.oldest)).join("; ") + "."));
    const held = run.levels.filter((l) => l.hold);
    if (held.length) out.push(el("p", { class: "note" }, "Held by the server: " + held.map((l) => l.name + ": " + l.hold).join("; ") + "."));
    if (run.levels.some((l) => l.from_send)) {
      out.push(el("p", { class: "note" }, "The latencies above start at the due time. Latencies from the send time, which hide a late client:"),
        table(["level", "avg", "p50", "p90", "p99", "max"], run.levels.filter((l) => l.from_send).map((l) => [l.name, dur(l.from_send.avg), ...[50, 90, 99].map((p) => pct(l.from_send, p)), dur(l.from_send.max)])));
    }
    if (run.levels.some((l) => l.first)) out.push(el("p", { class: "note" }, "Time to the first response:"), table(["level", "avg", "p50", "p90", "p99", "max"], run.levels.filter((l) => l.first).map((l) => [l.name, dur(l.first.avg), ...[50, 90, 99].map((p) => pct(l.first, p)), dur(l.first.max)])));
    const failures = run.levels.flatMap((l) => (l.failures || []).map((f) => [l.name, f.class, num(f.count), { text: f.text, cls: "text" }]));
    if (failures.length) out.push(el("h3", { style: "margin-top:16px" }, "Failures"), table(["level", "class", "count", "first text"], failures));
    const windows = el("details", {}, el("summary", {}, "Every window"));
    windows.append(table(["level", "from", "to", "requests", "throughput /s", "avg", "p99", ""], run.levels.flatMap((l) => (l.windows || []).map((w) => [l.name, num(w.from) + " s", num(w.to) + " s", num(w.requests), num(w.throughput), dur(w.avg), dur(w.p99), w.used ? "counts" : ""]))));
    out.push(windows);
    return el("section", {}, out);
  }

  // The metrics of a language model that matter first; the rest is a table to open.
  const mainMetrics = [["time_to_first_token", "first token", ["avg", 50, 99]], ["inter_token_latency", "next tokens", ["avg", 99]], ["request_latency", "request", ["avg", 99]], ["output_token_throughput_per_user", "a user", ["avg"]], ["output_token_throughput", "tokens/s", ["avg"]], ["goodput", "goodput/s", ["avg"]]];
  const metric = (l, tag) => (l.metrics || []).find((m) => m.tag === tag);
  const figure = (m, v) => (v === undefined || v === null ? "" : m.unit === "ms" ? dur(v) : num(v));
  const stat = (m, p) => { if (p === "avg") return m.avg; const q = ((m.dist && m.dist.percentiles) || []).find((x) => x.p === p); return q ? q.v : null; };

  function tokens(run) {
    const list = run.levels.filter((l) => (l.metrics || []).length);
    const shown = mainMetrics.filter(([tag]) => list.some((l) => metric(l, tag)));
    const head = ["level", ...shown.flatMap(([, name, stats]) => stats.map((s) => name + (stats.length > 1 ? (s === "avg" ? " avg" : " p" + s) : "")))];
    const rows = list.map((l) => [l.name, ...shown.flatMap(([tag, , stats]) => stats.map((s) => { const m = metric(l, tag); return m ? figure(m, stat(m, s)) : ""; }))]);
    return el("section", {}, table(head, rows, "full"), even(el("div", { class: "grid" }, tokenCurves(list))), metricTables(list));
  }

  // tokenCurves are the distributions of the first token and of the next ones, by their percentiles.
  function tokenCurves(list) {
    const out = [];
    for (const [tag, title] of [["time_to_first_token", "Time to first token by percentile"], ["inter_token_latency", "Time per token by percentile"]]) {
      const parts = list.slice(0, 16).map((l, c) => ({ l, c, m: metric(l, tag) })).filter((x) => x.m && x.m.dist && (x.m.dist.percentiles || []).length > 1).map(({ l, c, m }) => ({ name: l.name, color: c, xs: m.dist.percentiles.map((q) => nines(q.p / 100)), ys: m.dist.percentiles.map((q) => q.v) }));
      if (!parts.length) continue;
      const { xs, columns } = join(parts);
      out.push(lines({ title, note: "The share of requests that were at least as fast, on a scale of nines.", x: { label: "percentile", format: nineLabel, splits: (u, i, a, b) => ninesAt.filter((v) => v >= a - 1e-9 && v <= b + 1e-9) }, y: { unit: "ms", log: true }, xs, series: parts.map((p, i) => ({ name: p.name, values: columns[i], color: p.color, span: true })) }));
    }
    return out;
  }

  function metricTables(list) {
    const range = (m, i) => (!i ? "" : i.high === null ? "at least " + figure(m, i.low) : figure(m, i.low) + " – " + figure(m, i.high));
    const ends = (m) => range(m, m.interval);
    const tail = (m, p) => [figure(m, stat(m, p)), range(m, (m.intervals || {})["p" + p])].filter(Boolean).join("\u00a0· ");
    return list.map((l) => {
      const all = l.metrics.filter((m) => !m.tag.includes("timestamp")), dist = all.filter((m) => m.dist), single = all.filter((m) => !m.dist);
      return el("details", {}, el("summary", {}, "Every metric at " + l.name),
        table(["metric", "unit", "avg", "95 % interval", "min", "p50", "p90", "p95", "p99", "max", "std"], dist.map((m) => [m.name, m.unit, figure(m, m.avg), ends(m), figure(m, m.dist.min), ...[50, 90, 95, 99].map((p) => tail(m, p)), figure(m, m.dist.max), figure(m, m.dist.std)]), "full"),
        single.length ? table(["metric", "unit", "value", "95 % interval"], single.map((m) => [m.name, m.unit, figure(m, m.avg), ends(m)])) : null);
    });
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
  function measurementError(e, unknown) {
    if (!e) return unknown ? ["not measured", unknown] : ["not calibrated", ""];
    const signed = (ns) => (ns < 0 ? "−" : "+") + dur(Math.abs(ns) / 1e6);
    return [signed(e.p50_ns), (e.p99_at_least ? "≥ " : "") + signed(e.p99_ns) + (e.exact ? "" : " (of other traffic: " + e.of + ")") + (e.notes || []).map((n) => "; " + n).join("")];
  }

  function health(run) {
    const us = (ns) => dur(ns / 1e6);
    const head = ["level", "send lag p50", "p99", "max", "read lag p99", "rate", "in flight", "CPU cores", "CPU a request", "machine busy", "GC pause", "scheduler", "dropped", "error p50", "error p99"];
    return table(head, run.levels.map((l) => {
      const h = l.health;
      return [l.name, ...(l.open ? [us(h.lag_p50_ns), us(h.lag_p99_ns), us(h.lag_max_ns)] : ["", "", ""]), h.read_lag ? us(h.read_lag.p99_ns) : h.times === "read" ? "not known" : "", h.asked_rate ? num(h.achieved_rate) + " of " + num(h.asked_rate) : num(h.achieved_rate),
        num(h.achieved_in_flight, 3) + (h.asked_in_flight ? " of " + num(h.asked_in_flight) : ""), num(h.cpu_cores, 2), us(h.cpu_per_request_ns), num(h.machine_share * 100, 3) + " %", us(h.gc_pause_max_ns), us(h.sched_delay_max_ns), num(h.dropped),
        ...measurementError(h.measurement_error, h.measurement_error_unknown)];
    }), "full");
  }

  const common = [
    ["In flight", "Σ of the times in flight ÷ the length of the time"],
    ["Send lag", "send time − due time"],
    ["Read lag", "for each request, the longest time for which a part of its response had arrived (by the kernel's record) but was not read; no latency includes it"],
    ["Measurement error", "the client's latency minus the time in the log of a reference server on the same machine, at the pace of the run; for tokens of a language model, the client's time of a token minus the server's send time; p99 is an upper bound with 95 % confidence"],
  ];
  const formulas = [
    ["Throughput", "successful inferences (requests × batch size) in the merged windows ÷ the length of these windows; with a fixed number of requests without the wait for the last response"],
    ["Latency", "from the send time to the last response; in open loop from the due time, so that a late send does not look like a fast response"],
    ["Percentile p", "linear between the two nearest ranks of p/100 · (n−1) of the n sorted latencies; of more than 262,144 latencies a window within 0.1 %"],
    ["Standard deviation", "√(Σ(x − mean)² ÷ (n − 1))"],
    ["Window", "a request belongs to the window in which it ended; the level is the last three windows merged, once they agree"],
    ["Network and client", "the client's average minus the server's queue, compute and overhead times"],
    ...common,
  ];
  const tokenFormulas = [
    ["Throughput", "complete responses ÷ the time from the first send to the last token; tokens ÷ that time"],
    ["Latency", "from the send time to the last chunk; in open loop from the due time, so that a late send does not look like a fast response"],
    ["First token", "the first chunk − the send time, or − the due time in open loop"],
    ["Next tokens", "(last chunk − first chunk) ÷ (output tokens − 1)"],
    ["A user", "1 ÷ next tokens"],
    ["Percentile p", "linear between the two nearest ranks of p/100 · (n−1); of many values within 0.1 %"],
    ["Standard deviation", "√(Σ(x − mean)² ÷ n)"],
    ...common,
  ];
  function formulaList(runs) {
    const show = (list) => el("dl", { class: "facts" }, list.flatMap(([k, v]) => [el("dt", {}, k), el("dd", {}, v)]));
    const kinds = [[runs.filter(speaks), tokenFormulas], [runs.filter((r) => !speaks(r)), formulas]].filter(([list]) => list.length);
    return kinds.map(([list, f]) => el("div", {}, kinds.length > 1 ? el("h3", {}, list.map((r) => r.mark).join(", ")) : null, show(f)));
  }

  function facts(run) {
    const env = run.environment || {};
    const list = [["Command", run.command], ["Label", run.label], ["Model", run.model], ["Server", run.target], ["Start", run.start], ["Tool", run.tool],
      ["Client machine", [env.hostname, env.os && env.os + "/" + env.arch, env.cpus && env.cpus + " CPUs", env.go].filter(Boolean).join(", ")], ["Workload", run.workload]].filter((x) => x[1]);
    return el("dl", { class: "facts" }, list.flatMap(([k, v]) => [el("dt", {}, k), el("dd", {}, v)]));
  }

  function comparison(c) {
    // Past tenfold a factor says more than per cent, and past a thousand its digits say nothing.
    const pct = (v) => (Math.abs(v) < 5e-5 ? "0 %" : v >= 1000 ? "over ×1,000" : v >= 10 ? "×" + num(1 + v, 3) : (v > 0 ? "+" : "−") + num(Math.abs(v) * 100, 3) + " %");
    const cls = { better: "good", worse: "bad" };
    const f = (r, v) => (r.unit === "ms" ? dur(v) : num(v));
    const rows = c.rows.map((r) => [r.level, { text: r.name }, f(r, r.a), f(r, r.b), r.a ? pct(r.change) : "", r.low || r.high ? pct(r.low) + " to " + pct(r.high) : "", { text: r.finding, cls: cls[r.finding] }]);
    return el("section", {}, el("div", { class: "verdict " + ({ better: "valid", worse: "failed" }[c.finding] || "") }, el("b", {}, "B is " + (c.finding === "better" || c.finding === "worse" ? c.finding + " than A" : c.finding === "cannot tell" ? "not comparable with A" : "not seen to differ from A"))),
      table(["level", "figure", "A", "B", "change", "interval", ""], rows, "full pairs"), el("p", { class: "note" }, "The intervals allow for the number of rows: in comparisons of equal runs, at most " + num(100 - c.confidence * 100) + " % have an interval that does not contain 0."), (c.remarks || []).map((r) => el("p", { class: "note" }, r)));
  }

  function section(id, title, note, ...content) {
    return el("section", { id }, el("h2", {}, title), note ? el("p", { class: "note" }, note) : null, content);
  }

  function theme() {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    charts.redraw();
  }

  // list shows past runs; two that are chosen can be compared.
  function list(data) {
    const page = document.getElementById("page");
    const chosen = [];
    const go = el("button", { type: "button", disabled: true, on: { click: () => { location.href = "/compare/" + chosen.map(encodeURIComponent).join("/"); } } }, "Compare");
    const choose = (id, box) => {
      if (box.checked) chosen.push(id); else chosen.splice(chosen.indexOf(id), 1);
      go.disabled = chosen.length !== 2;
      go.textContent = chosen.length === 2 ? "Compare the two" : "Choose two to compare";
    };
    const rows = data.list.items.map((r) => {
      const box = el("input", { type: "checkbox", "aria-label": "choose " + r.id });
      box.addEventListener("change", () => choose(r.id, box));
      return [box, el("a", { href: "/run/" + encodeURIComponent(r.id) }, r.label || r.id), r.start, r.command, r.model, num(r.levels), num(r.throughput) + " /s", dur(r.p99), { text: r.verdict, cls: { valid: "good", failed: "bad", "server-failed": "bad" }[r.verdict] || "warn" }];
    });
    page.replaceChildren(
      el("header", { class: "top" }, el("span", { class: "brand" }, "redline"), el("h1", {}, "Runs"), el("span", { class: "when" }, ""), el("button", { type: "button", "aria-label": "light or dark", on: { click: theme } }, "◐")),
      data.list.live ? el("p", {}, el("a", { href: "/live", class: "live" }, "A run is in progress")) : "",
      rows.length ? el("div", {}, el("div", { class: "tools" }, go), table(["", "run", "when", "command", "model", "levels", "best", "p99 there", "verdict"], rows, "full runs")) : el("p", { class: "note" }, "No runs yet: every run of redline profile, llm, simple and stress is kept here."));
    go.textContent = "Choose two to compare";
  }

  // follow asks for news once a second. A page that somebody points at or zooms in is left alone meanwhile.
  function follow(data) {
    let busy = false, over = false;
    document.addEventListener("pointerover", (e) => { over = !!(e.target.closest && e.target.closest(".chart, .tools")); });
    document.addEventListener("pointerleave", () => { over = false; });
    const tick = async () => {
      if (busy) return;
      busy = true;
      try {
        const answer = await fetch(data.feed, { cache: "no-store" });
        const run = await answer.json();
        if (run && (!over || !run.live)) render({ ...data, runs: [run] });
        if (!run || !run.live) clearInterval(timer);
      } catch {
        clearInterval(timer); // the run is over and the server gone: what is on the page stays
        document.querySelectorAll(".live").forEach((e) => { e.className = ""; e.textContent = "The run has ended; this is its last update"; });
      }
      busy = false;
    };
    const timer = setInterval(tick, 1000);
  }

  function render(data) {
    if (data.list) return list(data);
    const runs = data.runs;
    runs.forEach((r, i) => { r.mark = "AB"[i] || String(i); });
    const page = document.getElementById("page");
    const one = runs.length === 1 ? runs[0] : null;
    const parts = [];
    const title = one ? [one.model || one.name, one.label].filter(Boolean).join(" · ") : runs.length ? "A " + runs[0].name + " · B " + runs[1].name : data.title;
    parts.push(el("header", { class: "top" }, data.home ? el("a", { class: "brand", href: data.home }, "redline") : el("span", { class: "brand" }, "redline"), el("h1", {}, title), el("span", { class: "when" }, one ? one.start || "" : ""), el("button", { type: "button", "aria-label": "light or dark", on: { click: theme } }, "◐")));
    const nav = el("nav", { class: "jump", "aria-label": "sections" });
    parts.push(nav);
    const add = (id, name, ...rest) => { nav.append(el("a", { href: "#" + id }, name)); parts.push(section(id, name, ...rest)); };
    if (one) parts.push(verdict(one), tiles(one));
    if (data.compare) add("compare", "Comparison", "", comparison(data.compare));
    if (runs.some((r) => r.levels.some((l) => l.cdf[0].length))) add("overview", "Overview", "", overview(runs));
    for (const run of runs) {
      const who = one ? "" : run.mark + " ";
      const id = one ? "" : "-" + run.mark;
      if (!one) parts.push(el("h2", { style: "margin-top:48px" }, run.mark + "  " + run.name), verdict(run), tiles(run));
      if (run.levels.some((l) => (l.metrics || []).length)) add("tokens" + id, who + "Tokens", "", tokens(run));
      if (run.levels.some((l) => l.time)) add("time" + id, who + "Over time", "Drag across a chart to zoom in, double-click to go back.", levels(run));
      if (run.levels.length) add("levels" + id, who + "Levels", "", levelTable(run));
      if (run.levels.some((l) => l.server && l.server.parts)) add("models" + id, who + "Composing models", "", composing(run));
      if (run.levels.length && !run.live) add("client" + id, who + "Client health", "Whether the client kept up. A client at its limit measures itself, not the server.", health(run));
      add("run" + id, who + "Run", "", facts(run), run.plan ? el("details", {}, el("summary", {}, "The plan"), el("pre", {}, JSON.stringify(run.plan, null, 2))) : null);
    }
    if (runs.length) add("formulas", "Formulas", "", ...formulaList(runs));
    parts.push(el("footer", {}, data.home ? "Made by redline." : "Made by redline. This file is complete and loads nothing."));
    const y = scrollY;
    page.replaceChildren(...parts);
    charts.sweep();
    if (data.feed) scrollTo(0, y);
  }

  const data = JSON.parse(document.getElementById("data").textContent);
  window.redline = { render };
  render(data);
  if (data.feed) follow(data);
})();
