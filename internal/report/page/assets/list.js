"use strict";
// lists shows past runs: all of them with filters, or those of one workload as a trend. Two of them can be compared.
const lists = (() => {
  const { el, num, rate, dur, table, lines, even, top } = charts;

  const address = (r) => "/run/" + encodeURIComponent(r.id);
  const nameOf = (r) => r.label || r.id;
  // A search without an answer has no throughput.
  const best = (r) => (r.throughput ? rate(r.throughput) + " /s" : "–");
  const p99 = (r) => (r.p99 ? dur(r.p99) : "–");
  // tone is the color of a verdict: a run that missed a rule is bad, however valid its numbers are.
  const tone = (r) => (r.missed || r.verdict === "failed" || r.verdict === "server-failed" ? "bad" : r.verdict === "valid" ? "good" : "warn");
  const verdict = (r) => r.verdict + (r.missed ? ", " + num(r.missed) + (r.missed === 1 ? " rule" : " rules") + " missed" : "");

  // The filters, by their names in the address of the page.
  const filters = [
    ["model", (r) => r.model],
    ["label", (r) => r.label],
    ["verdict", (r) => (r.missed ? "rules missed" : r.verdict)],
  ];

  // chooser makes the boxes of the runs and the button that compares two of them.
  function chooser() {
    const chosen = new Set();
    const go = el("button", { type: "button", on: { click: () => { location.href = "/compare/" + [...chosen].map(encodeURIComponent).join("/"); } } });
    const update = () => {
      go.disabled = chosen.size !== 2;
      go.textContent = chosen.size === 2 ? "Compare the two" : "Choose two to compare";
    };
    const box = (r) => {
      const b = el("input", { type: "checkbox", "aria-label": "choose " + r.id });
      b.checked = chosen.has(r.id);
      b.addEventListener("change", () => { if (b.checked) chosen.add(r.id); else chosen.delete(r.id); update(); });
      return b;
    };
    update();
    return { go, box };
  }

  // kind is what the runs of a trend have in common.
  const kind = (r) => r.command + " " + r.workload;

  // runTable lists runs; same counts the runs of each kind.
  function runTable(runs, box, same) {
    const head = ["", "run", "verdict", "best", "p99 there", "model", "when", "command", "levels", "version"];
    if (same) head.push("trend");
    const rows = runs.map((r) => {
      const row = [box(r), el("a", { href: address(r), title: r.id }, nameOf(r)), { text: verdict(r), cls: tone(r) }, best(r), p99(r), r.model, r.start, r.command, num(r.levels), r.version];
      if (same) row.push(same.get(kind(r)) > 1 ? el("a", { href: "/trend/" + encodeURIComponent(r.id) }, same.get(kind(r)) + " runs") : "");
      return row;
    });
    return table(head, rows, "full runs cards");
  }

  // list shows all runs. The filters stand in the address, so that they survive a look at a run.
  function list(data) {
    const items = data.list.items, { go, box } = chooser(), place = el("div", {}), count = el("span", { class: "count" });
    const same = new Map();
    for (const r of items) if (r.workload) same.set(kind(r), (same.get(kind(r)) || 0) + 1);
    const wanted = new URLSearchParams(location.search);
    const show = () => {
      const shown = items.filter((r) => filters.every(([name, of]) => !wanted.get(name) || of(r) === wanted.get(name)));
      count.textContent = shown.length === items.length ? num(items.length) + " runs" : num(shown.length) + " of " + num(items.length) + " runs";
      place.replaceChildren(shown.length ? runTable(shown, box, same) : el("p", { class: "note" }, "No run has all of these."));
    };
    const tools = filters.map(([name, of]) => {
      const values = [...new Set(items.map(of).filter(Boolean))].sort();
      const select = el("select", { name }, el("option", { value: "" }, "any"), values.map((v) => el("option", { value: v }, v)));
      select.value = values.includes(wanted.get(name)) ? wanted.get(name) : "";
      if (!select.value) wanted.delete(name);
      select.addEventListener("change", () => {
        if (select.value) wanted.set(name, select.value); else wanted.delete(name);
        history.replaceState(null, "", wanted.size ? "?" + wanted : location.pathname);
        show();
      });
      return el("label", {}, name + " ", select);
    });
    show();
    return [
      top("Runs", ""),
      data.list.live ? el("p", {}, el("a", { href: "/live", class: "live" }, "A run is in progress")) : "",
      items.length ? el("div", {}, el("div", { class: "tools" }, tools, go, count), place) : el("p", { class: "note" }, "No runs yet: every run of redline profile, llm, simple and stress is kept here."),
    ];
  }

  // trend draws the runs of one workload in their order. Every point is a link to its run.
  function trend(data) {
    const runs = [...data.list.items].reverse(), { go, box } = chooser(); // the oldest first
    const title = (r) => [nameOf(r), r.start, best(r), "p99 " + p99(r), verdict(r)].join(", ");
    const links = runs.map((r) => ({ href: address(r), title: title(r), cls: tone(r) }));
    const x = { label: "runs, the oldest first", format: (v) => (runs[v - 1] ? runs[v - 1].start.slice(5, 16) : ""), splits: runs.map((r, i) => i + 1), range: [0.5, runs.length + 0.5] };
    const chart = (name, note, unit, value) => lines({ title: name, note, x, y: { unit }, xs: runs.map((r, i) => i + 1), series: [{ name: name.toLowerCase(), values: runs.map(value), color: 7 }], links });
    const cells = el("div", { class: "strip" }, links.map((l) => el("a", { href: l.href, title: l.title, "aria-label": l.title, class: l.cls })));
    return [
      top("Trend · " + (runs.length ? runs[runs.length - 1].model || runs[runs.length - 1].command : ""), num(runs.length) + " runs of one workload", data.home),
      el("p", { class: "note" }, "All runs here sent the same requests. A point is green if the run is valid, red if the run failed or missed a rule, yellow otherwise."),
      even(el("div", { class: "grid" }, [
        chart("Throughput", "Per second, at the best level of each run.", "plain", (r) => r.throughput),
        chart("p99 latency", "At that level.", "ms", (r) => r.p99),
        el("figure", { class: "chart wide" }, el("h3", {}, "Verdict"), el("p", {}, "One cell for each run, the oldest first."), cells),
      ])),
      el("div", { class: "tools" }, go),
      runTable(data.list.items, box),
    ];
  }

  return { render: (data) => (data.list.trend ? trend(data) : list(data)) };
})();
