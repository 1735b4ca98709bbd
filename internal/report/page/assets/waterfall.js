"use strict";
// waterfalls draw the slowest requests that client and server traced: one bar for each part of a request, on one time axis.
const waterfalls = (() => {
  const { el, num, dur, key, figure } = charts;
  const colors = { client: 7, model: 0, queue: 1, compute: 4, other: 3 };
  const color = (s) => colors[!s.server ? "client" : s.name === "in the model" ? "model" : s.name === "queue" ? "queue" : s.name.startsWith("compute") ? "compute" : "other"];
  const side = (s) => (s.server ? "server" : "client");
  const name = (s) => (s.name === "in the model" ? s.model : s.name);

  // one draws a request. Parts of the server that end after the client has its response are cut at the right edge.
  function one(r) {
    const head = ["part", "side", "start", "duration"];
    const rows = () => r.spans.map((s) => [{ text: name(s) }, side(s), dur(s.from), dur(s.to - s.from)]);
    const { figure: f, host } = figure("Request " + r.id + ": " + dur(r.total), r.model, head, rows, true);
    const end = Math.max(r.total, 1e-9), place = (v) => Math.min(100, Math.max(0, (100 * v) / end));
    host.append(el("div", { class: "bars waterfall" }, r.spans.flatMap((s) => [
      el("span", { style: `padding-left:${(s.server ? s.depth + 1 : 0) * 12}px` }, name(s)),
      el("div", { class: "bar", title: `${side(s)}: ${name(s)}, from ${dur(s.from)} to ${dur(s.to)}` }, el("i", { style: `margin-left:${place(s.from)}%;width:${Math.max(0.3, place(s.to) - place(s.from))}%;background:var(--c${color(s)})` })),
      el("span", {}, dur(s.to - s.from)),
    ])));
    return f;
  }

  // section shows the slowest requests of all levels; the first is open.
  function section(run) {
    const legend = key([["client", colors.client, null], ["server: model", colors.model, null], ["queue", colors.queue, null], ["compute", colors.compute, null], ["receive and send", colors.other, null]]);
    const levels = run.levels.filter((l) => l.traces);
    return [levels.some((l) => l.traces.requests) ? legend : null, ...levels.flatMap((l) => {
      const t = l.traces, list = t.requests || [];
      const words = t.note || num(t.matched) + (t.matched === 1 ? " request was" : " requests were") + " traced by the server; these are the slowest. The server's clock is " + t.clock + ".";
      return [el("h3", { style: "margin-top:16px" }, l.name), el("p", { class: "note" }, words),
        list.length ? one(list[0]) : null,
        list.length > 1 ? el("details", {}, el("summary", {}, list.length - 1 + (list.length === 2 ? " more request" : " more requests")), list.slice(1).map(one)) : null];
    })];
  }

  return { section };
})();
