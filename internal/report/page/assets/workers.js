"use strict";
// working shows what each worker of a fleet did, and all of them together.
const working = (() => {
  const { el, num, rate, dur, table } = charts;
  const mostShown = 20; // others are in a table to open
  const opened = new Set(); // tables that the reader opened: a live page is rendered again and again

  // state words what became of a worker.
  function state(w, live) {
    if (w.lost) return { text: "lost: " + w.lost, cls: "text bad" };
    if (w.limited) return { text: "client-limited", cls: "text warn" };
    return { text: live ? "running" : "complete", cls: "text good" };
  }

  // rows are the cells of workers of a level; a percentile needs enough requests.
  function row(w, l, live) {
    const cells = [w.name, num(w.requests), w.failed ? { text: num(w.failed), cls: "bad" } : "0", rate(w.throughput), w.requests > 1 ? dur(w.p50) : "–", w.requests >= 100 ? dur(w.p99) : "–", num(w.in_flight, 3), num(w.cpu, 2)];
    if (l.open) cells.push(w.requests ? dur(w.lag_p99) : "–");
    return [...cells, state(w, live)];
  }

  const head = (l) => ["worker", "requests", "failed", "throughput /s", "p50", "p99", "in flight", "CPU cores", ...(l.open ? ["send lag p99"] : []), "state"];

  // folded is a table that opens, and stays open when the page is rendered again.
  function folded(title, content) {
    const d = el("details", { open: opened.has(title), on: { toggle: () => (d.open ? opened.add(title) : opened.delete(title)) } }, el("summary", {}, title), content);
    return d;
  }

  // tables shows the workers of a level: those with problems first, and the whole level below. pct words a percentile.
  function tables(l, live, pct) {
    const trouble = (w) => (w.lost ? 2 : w.limited ? 1 : 0);
    const list = [...l.workers].sort((a, b) => trouble(b) - trouble(a)), shown = list.slice(0, mostShown), rest = list.slice(mostShown);
    const total = (of) => l.workers.reduce((n, w) => n + of(w), 0), lost = l.workers.filter((w) => w.lost).length;
    const sum = [l.workers.length === 1 ? "the worker" : "all " + l.workers.length + " workers", num(l.requests), l.failed ? { text: num(l.failed), cls: "bad" } : "0", rate(l.throughput), pct(l.latency, 50, l.requests), pct(l.latency, 99, l.requests),
      num(total((w) => w.in_flight), 3), num(total((w) => w.cpu), 2), ...(l.open ? [""] : []), lost ? { text: lost + " lost", cls: "text bad" } : ""];
    sum.cls = "sum";
    return [table(head(l), [...shown.map((w) => row(w, l, live)), sum], "full"),
      rest.length ? folded(rest.length + " more workers at " + l.name, table(head(l), rest.map((w) => row(w, l, live)), "full")) : null];
  }

  // section shows the workers of a level, and those of the other levels in tables to open.
  function section(run, main, pct) {
    const list = run.levels.filter((l) => l.workers), first = list.includes(main) ? main : list[list.length - 1];
    return [el("p", { class: "note" }, [first.name + ".", run.fleet].filter(Boolean).join(" ")), ...tables(first, run.live && first === run.newest, pct), ...list.filter((l) => l !== first).map((l) => folded("Workers at " + l.name, tables(l, false, pct)))];
  }

  return { section };
})();
