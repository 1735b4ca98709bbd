"use strict";
// charts draws with uPlot: lines, curves through points, a heat map. Each chart is a figure with a heading, the drawing,
// and the same numbers as a table.
const charts = (() => {
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const color = (i) => css("--c" + (((i % 8) + 8) % 8));
  const drawn = new Set();
  const opened = new Set(); // titles of charts whose table is open: a live page is rendered again and again

  // el makes an element; text is always text.
  function el(tag, attrs, ...kids) {
    const e = document.createElement(tag);
    for (const [k, v] of Object.entries(attrs || {})) {
      if (v === undefined || v === null || v === false) continue;
      if (k === "on") for (const [ev, f] of Object.entries(v)) e.addEventListener(ev, f);
      else e.setAttribute(k, v === true ? "" : v);
    }
    for (const kid of kids.flat(Infinity)) if (kid !== null && kid !== undefined) e.append(kid);
    return e;
  }

  function num(v, digits = 4) {
    if (v === null || v === undefined || Number.isNaN(v)) return "";
    const a = Math.abs(v);
    if (a !== 0 && a < 1e-4) return v.toExponential(2);
    if (a >= 1e6) return (v / 1e6).toPrecision(digits) + " M";
    if (a >= 1000) return Math.round(v).toLocaleString("en-US");
    return String(Number(v.toPrecision(digits)));
  }

  // rate is a number of a column whose numbers have equally many digits.
  const rate = (v) => { const a = Math.abs(v); return a >= 0.001 && a < 999.95 ? v.toPrecision(4) : num(v); };

  // tick is a number beside an axis, where there is little room.
  const tick = (v) => (Math.abs(v) >= 1e6 ? Number((v / 1e6).toPrecision(4)) + " M" : Math.abs(v) >= 1e5 ? Number((v / 1e3).toPrecision(4)) + " k" : num(v));

  // dur is a time with three digits, as 9.10 ms.
  function dur(ms) {
    if (ms === null || ms === undefined) return "";
    if (ms === 0) return "0";
    for (const [unit, size] of [["ns", 1e-6], ["µs", 1e-3], ["ms", 1], ["s", 1000]]) {
      const v = ms / size;
      if (Math.abs(v) < 999.5) return v.toPrecision(3) + " " + unit;
    }
    return num(ms / 1000) + " s";
  }

  // durTick is a time beside an axis, without zeros at its end.
  const durTick = (ms) => dur(ms).replace(/(\.\d*?)0+(?= )/, "$1").replace(/\.(?= )/, "");

  // lasted is the length of a run.
  function lasted(seconds) {
    if (seconds < 120) return dur(seconds * 1000);
    const m = Math.round(seconds / 60), h = Math.floor(m / 60);
    return h ? h + " h " + (m % 60) + " min" : m + " min";
  }

  const percent = (v) => (v === null || v === undefined ? "" : num(v, 3) + " %");

  // A column of words starts at the left, a column of numbers ends at the right.
  function worded(c) {
    const t = String(c instanceof Node ? c.textContent : c && typeof c === "object" ? c.text ?? "" : c ?? "");
    if (t === "" || t === "–" || t === "not known") return null;
    if (/^[≥≤<×+−-]?\s*[\d.,]+(\s?[^\s\d:]{1,12})?$/.test(t)) return false; // a number with its unit
    return /[a-z:]|^\d{4}-/i.test(t.replace(/\b(?:ns|ms|s|M|at least|to|over)\b|µs/g, ""));
  }
  function columns(head, rows) {
    return head.map((h, i) => {
      const known = rows.map((r) => worded(r[i])).filter((w) => w !== null);
      return known.length > 0 && known.filter(Boolean).length * 2 >= known.length;
    });
  }

  // A table that scrolls can be reached by the keyboard; others are passed over.
  const scrollable = new ResizeObserver((list) => list.forEach(({ target: t }) => { if (t.scrollWidth > t.clientWidth) t.tabIndex = 0; else t.removeAttribute("tabindex"); }));

  function table(head, rows, cls) {
    const words = columns(head, rows), at = (i) => (words[i] ? "words" : undefined);
    const t = el("table", { class: cls || "" }, el("thead", {}, el("tr", {}, head.map((h, i) => el("th", { scope: "col", class: at(i) }, h)))));
    t.append(el("tbody", {}, rows.map((r) => el("tr", { class: r.cls }, r.map((c, i) => {
      const named = { "data-head": head[i], class: at(i) }; // cards show the head before the value
      if (c && typeof c === "object" && !(c instanceof Node)) return el("td", { ...named, class: [at(i), c.cls].filter(Boolean).join(" ") }, c.text);
      return i === 0 ? el("th", { scope: "row", class: at(i) }, c) : el("td", named, c);
    })))));
    const box = el("div", { class: "scroll" }, t);
    scrollable.observe(box);
    return box;
  }

  // figure is the frame of every chart. rows() returns its table, which is made when it is opened.
  function figure(title, note, head, rows, wide) {
    const host = el("div", { class: "host", role: "img", "aria-label": title + ". " + (note || "") + " The table below has the numbers." });
    const more = el("details", {}, el("summary", {}, "Table"));
    const fill = () => { if (more.childElementCount === 1) more.append(table(head, rows())); };
    more.addEventListener("toggle", () => {
      if (more.open) { fill(); opened.add(title); } else opened.delete(title);
    });
    if (opened.has(title)) { more.open = true; fill(); }
    const f = el("figure", { class: "chart" + (wide ? " wide" : "") }, el("h3", {}, title), note ? el("p", {}, note) : null, host, more);
    return { figure: f, host };
  }

  // grow draws a chart again when the width of its place or the colors change.
  function grow(host, make) {
    let plot = null;
    const draw = () => {
      const width = Math.floor(host.clientWidth);
      item.shown = item.shown || host.isConnected;
      if (width < 50) return;
      if (plot && plot.width === width) return;
      if (plot) plot.setSize({ width, height: plot.height });
      else plot = make(width);
    };
    const item = { host, end() { seen.disconnect(); if (plot) plot.destroy(); plot = null; }, redraw() { if (plot) { plot.destroy(); plot = null; host.replaceChildren(); } draw(); } };
    drawn.add(item);
    const seen = new ResizeObserver(draw);
    seen.observe(host);
    requestAnimationFrame(draw);
    return item;
  }

  const axis = (over) => ({ stroke: css("--soft"), grid: { stroke: css("--grid"), width: 1 }, ticks: { stroke: css("--grid") }, font: "12px " + css("--sans"), ...over });

  const keep = (u, splits) => splits; // uPlot would leave out labels of a logarithmic scale

  const unitOf = { ms: dur, "%": percent, plain: num };
  const tickOf = (fmt) => (v) => (v === null ? "" : fmt === num ? tick(v) : fmt === dur ? durTick(v) : fmt(v));

  // wantsLog tells whether values need a logarithmic axis: all are above 0, and the largest is many times the one that a
  // share of the values do not exceed. The share is above 0 if a few small values matter less than the others.
  function wantsLog(values, times = 20, share = 0.25) {
    const known = values.filter((v) => v !== null && v !== undefined).sort((a, b) => a - b);
    return known.length > 0 && known[0] > 0 && known[known.length - 1] >= times * known[Math.floor(share * (known.length - 1))];
  }

  // thin leaves out ticks that are fewer than space pixels from the one before. share is where a value lies on the axis,
  // from 0 to 1.
  function thin(u, ticks, space, share) {
    let last = -Infinity;
    return ticks.filter((v) => {
      const at = share(v) * (u.width - 90);
      if (at - last < space) return false;
      last = at;
      return true;
    });
  }

  // sample is the style of a line's sample in a legend: its color and its dash pattern.
  function sample(paint, dash) {
    if (!dash || !dash.length) return "background:" + paint;
    const [on, off] = dash;
    return `background:repeating-linear-gradient(90deg,${paint} 0 ${on}px,transparent ${on}px ${on + off}px)`;
  }

  // cycle is the color and dash pattern of the i-th of many lines: colors repeat after 8, then the lines are dashed.
  const cycle = (i) => ({ color: i % 8, dash: i % 16 >= 8 ? [6, 3] : undefined });

  function logSplits(u, i, min, max) {
    const out = [];
    for (let e = Math.floor(Math.log10(min)); e <= Math.ceil(Math.log10(max)); e++)
      for (const m of [1, 2, 5]) { const v = m * 10 ** e; if (v >= min && v <= max) out.push(v); }
    if (out.length > 9) return out.filter((v) => Math.abs(Math.log10(v) % 1) < 1e-9);
    if (out.length >= 3) return out;
    const step = 10 ** Math.floor(Math.log10(max - min)) / (max - min < 3 * 10 ** Math.floor(Math.log10(max - min)) ? 2 : 1);
    const few = [];
    for (let v = Math.ceil(min / step) * step; v <= max; v += step) few.push(Number(v.toPrecision(6)));
    return few;
  }

  // logRange leaves a little room, and spans at least a factor of two.
  function logRange(u, min, max) {
    if (!(min > 0) || !(max > 0)) return [0.01, 1];
    if (max / min < 2) { min /= 1.5; max *= 1.5; }
    return [min / 1.15, max * 1.3];
  }

  // lines draws series over a common x. o: title, note, x: {label, format, splits, range, loads}, y: {unit}, xs,
  // series: [{name, values, color, dash, fill, points, size, mute}], bands: [[from, to]] that are shaded, links: [{href, title, cls}],
  // one for each x, that stand on the points of the first series. Loads are ticked at their own values. Charts with the same
  // cursor show one cursor at the same x. y.include: values that the axis must reach, y.room: how far above the highest value it
  // goes. A mute series is only in the legend. over(u) draws on top of the chart, key is put beside the legend.
  function lines(o) {
    const fmt = unitOf[o.y.unit] || num;
    const xf = o.x.format || num;
    const head = [o.x.label, ...o.series.map((s) => s.name)];
    const rows = () => o.xs.map((x, i) => [xf(x), ...o.series.map((s) => fmt(s.values[i]))]);
    // Stacked series are drawn as sums, the highest first; the legend shows their own values.
    const drawnAs = o.stacked ? o.series.map((s, i) => s.values.map((v, j) => o.series.slice(i).reduce((sum, t) => sum + t.values[j], 0))) : o.series.map((s) => s.values);
    const include = o.y.include || [];
    const yLog = fmt === dur && wantsLog([...o.series.filter((s) => !s.mute).flatMap((s) => s.values), ...include]);
    const xLog = (o.x.loads || o.x.log) && wantsLog(o.xs, 10, 0);
    const low = (v) => Math.min(v ?? Infinity, ...include), high = (v) => Math.max(v || 0, ...include);
    const paint = (i) => color(o.series[i].color === undefined ? i : o.series[i].color);
    const { figure: f, host } = figure(o.title, o.note, head, rows, o.wide);
    const onAxis = (v, a, b) => (xLog ? Math.log(v / a) / Math.log(b / a) : (v - a) / (b - a));
    const ticks = (list) => (u, i, a, b) => {
      const shown = list.filter((v) => v >= a && v <= b);
      return thin(u, shown, 10 + 7 * Math.max(...shown.map((v) => xf(v).length)), (v) => onAxis(v, a, b));
    };
    // uPlot asks for the range of every zoom too, which stays as it is.
    const first = o.xs[0] ?? 0, last = o.xs[o.xs.length - 1] ?? 1;
    const whole = o.x.range || (o.x.loads ? (xLog ? [first / 1.15, last * 1.15] : [0, last * 1.06]) : first === last ? [first - 0.5, last + 0.5] : [first, last]);
    const xRange = (u, a, b) => (first === last || a === null || (a <= first && b >= last) ? whole : [a, b]);
    const few = (s) => s.points ?? sparse(s.values);
    grow(host, (width) => new uPlot({
      width, height: o.height || 260,
      cursor: { drag: { x: true, y: false }, focus: { prox: 24 }, points: { size: 6 }, sync: o.cursor && { key: o.cursor, scales: ["x", null] } },
      focus: { alpha: 0.35 },
      scales: { x: { time: false, distr: xLog ? 3 : 1, range: xRange }, y: yLog ? { distr: 3, range: (u, a, b) => logRange(u, low(a), high(b) * (o.y.room || 1)) } : { range: (u, a, b) => [Math.min(0, a || 0), (high(b) || 1) * (o.y.room || 1.08)] } },
      axes: [
        axis({ size: 30, label: o.x.label, labelSize: 16, labelGap: 0, labelFont: "12px " + css("--sans"), filter: keep, splits: o.x.loads ? ticks(o.xs) : o.x.splits ? ticks(o.x.splits) : xLog ? logSplits : undefined, values: (u, vs) => vs.map((v) => (v === null ? "" : xf(v))) }),
        axis({ size: 62, splits: yLog ? logSplits : undefined, filter: keep, values: (u, vs) => vs.map(tickOf(fmt)) }),
      ],
      series: [
        { label: o.x.label, value: (u, v) => (v === null ? "" : xf(v)) },
        ...o.series.map((s, i) => ({
          label: s.name, stroke: s.mute ? "transparent" : paint(i), width: s.width || 1.6, dash: s.dash, spanGaps: !!s.span || sparse(s.values),
          fill: s.fill ? paint(i) + (o.stacked ? "" : "30") : undefined, points: { show: !s.mute && few(s), size: s.size || 6, fill: paint(i), filter: (u, si, shown) => (shown || s.mute || s.span ? null : alone(s.values)) },
          value: (u, v, si, j) => (v === null || v === undefined ? "" : fmt(o.stacked ? o.series[si - 1].values[j] : v)),
        })),
      ],
      hooks: {
        drawClear: [(u) => bands(u, o.bands)],
        ready: [(u) => u.root.querySelectorAll(".u-legend .u-marker").forEach((m, i) => {
          const s = o.series[i - 1];
          if (s) m.style.cssText = sample(paint(i - 1), s.dash);
          if (!s || s.mute) m.closest("tr").classList.add("aside");
          m.closest(".u-legend").classList.toggle("many", o.series.length > 4);
        })],
        draw: [(u) => { stand(u, o); if (o.over) o.over(u); }],
      },
    }, [o.xs, ...drawnAs], host));
    if (o.key) f.insertBefore(o.key, f.querySelector("details"));
    return f;
  }

  // stand puts the links of a chart on its points.
  function stand(u, o) {
    if (!o.links) return;
    if (!u.over.querySelector("a")) u.over.append(...o.links.map((l) => el("a", { href: l.href, title: l.title, "aria-label": l.title, class: "dot " + l.cls })));
    u.over.querySelectorAll("a").forEach((a, i) => {
      const left = u.valToPos(o.xs[i], "x");
      a.style.cssText = `left:${left}px;top:${u.valToPos(o.series[0].values[i], "y")}px`;
      a.hidden = left < 0 || left > u.over.clientWidth;
    });
  }

  // sparse is a line with so few values, or so many gaps between them, that only its points are visible.
  function sparse(values) {
    const known = values.flatMap((v, i) => (v === null || v === undefined ? [] : [i]));
    return known.length > 0 && (known.length < 4 || known.length < 0.6 * (known[known.length - 1] - known[0] + 1));
  }

  // alone are the indices of values without a neighbor: no line reaches them.
  const alone = (values) => values.flatMap((v, i) => (v !== null && v !== undefined && (values[i - 1] ?? null) === null && (values[i + 1] ?? null) === null ? [i] : []));

  function bands(u, list) {
    if (!list) return;
    u.ctx.save();
    u.ctx.fillStyle = css("--grid");
    for (const [from, to] of list) {
      const a = Math.max(u.bbox.left, u.valToPos(from, "x", true)), b = Math.min(u.bbox.left + u.bbox.width, u.valToPos(to, "x", true));
      if (b > a) u.ctx.fillRect(a, u.bbox.top, b - a, u.bbox.height);
    }
    u.ctx.restore();
  }

  // join puts lines with x values of their own onto one x.
  function join(list) {
    const joined = uPlot.join(list.map((l) => [l.xs, l.ys]));
    return { xs: joined[0], columns: joined.slice(1) };
  }

  // curve connects points in the order in which they are given; a curve may turn back. lists: [{name, color, dash, labeled,
  // points: [{x, y, label, short}]}]. The points of a labeled list carry their short labels.
  function curve(o) {
    const xf = o.x.unit === "ms" ? dur : num, yf = o.y.unit === "ms" ? dur : num;
    const rows = () => o.lists.flatMap((l) => l.points.map((p) => [p.label, l.name, xf(p.x), yf(p.y)]));
    const { figure: f, host } = figure(o.title, o.note, ["level", "", o.x.label, o.y.label], rows, o.wide);
    const tip = el("div", { class: "tip" });
    const all = o.lists.flatMap((l) => l.points);
    const yLog = wantsLog(all.map((p) => p.y));
    const xmax = Math.max(...all.map((p) => p.x)) * 1.1 || 1, ymax = Math.max(...all.map((p) => p.y)) * 1.12 || 1;
    host.style.position = "relative";
    grow(host, (width) => {
      const place = (u, l) => l.points.map((p) => [u.valToPos(p.x, "x", true), u.valToPos(p.y, "y", true)]);
      const paths = (u, si) => {
        const l = o.lists[si - 1], ctx = u.ctx, px = devicePixelRatio, at = place(u, l);
        ctx.save();
        ctx.strokeStyle = ctx.fillStyle = color(l.color);
        ctx.lineWidth = 1.8 * px;
        ctx.setLineDash((l.dash || []).map((d) => d * px));
        ctx.beginPath();
        at.forEach(([x, y], i) => (i ? ctx.lineTo(x, y) : ctx.moveTo(x, y)));
        ctx.stroke();
        for (const [x, y] of at) {
          ctx.beginPath();
          ctx.arc(x, y, 3.6 * px, 0, 7);
          ctx.fill();
        }
        ctx.restore();
        return null;
      };
      const u = new uPlot({
        mode: 2, width, height: o.height || 320, legend: { show: false },
        cursor: { drag: { x: true, y: true }, dataIdx: () => null, points: { show: false } },
        scales: { x: { time: false, range: (u, a, b) => (a === null || a === b ? [0, xmax] : [a, b]), auto: false, min: 0, max: xmax }, y: yLog ? { distr: 3, range: (u, a, b) => logRange(u, a, b * 1.35) } : { auto: false, min: 0, max: ymax, range: (u, a, b) => (a === null || a === b ? [0, ymax] : [a, b]) } },
        axes: [
          axis({ size: 30, label: o.x.label, labelSize: 16, labelGap: 0, labelFont: "12px " + css("--sans"), values: (u, vs) => vs.map(tickOf(xf)) }),
          axis({ size: 62, splits: yLog ? logSplits : undefined, filter: keep, values: (u, vs) => vs.map(tickOf(yf)) }),
        ],
        series: [{}, ...o.lists.map((l) => ({ label: l.name, facets: [{ scale: "x", auto: false }, { scale: "y", auto: yLog }], paths, points: { show: false } }))],
        hooks: {
          draw: [(u) => mark(u, o.lists.map((l) => ({ ...l, at: place(u, l) })))],
          setCursor: [(u) => {
            const { left, top } = u.cursor;
            let best = null, least = 18;
            o.lists.forEach((l) => l.points.forEach((p) => {
              const d = Math.hypot(u.valToPos(p.x, "x") - left, u.valToPos(p.y, "y") - top);
              if (d < least) { least = d; best = [l, p]; }
            }));
            tip.style.display = best ? "block" : "none";
            if (!best) return;
            tip.textContent = best[1].label + "\n" + best[0].name + " " + yf(best[1].y) + "\n" + xf(best[1].x) + " " + o.x.per;
            tip.style.left = Math.min(left + 74, width - 150) + "px";
            tip.style.top = Math.max(0, top - 20) + "px";
          }],
        },
      }, [null, ...o.lists.map((l) => [l.points.map((p) => p.x), l.points.map((p) => p.y)])], host);
      host.append(tip);
      return u;
    });
    f.insertBefore(key(o.lists.map((l) => [l.name, l.color, l.dash])), f.querySelector("details"));
    return f;
  }

  // mark writes the labels of points beside them, on the side where there is room. A label that would cover a point or
  // another label is left out: the tip and the table have it.
  function mark(u, lists) {
    const ctx = u.ctx, px = devicePixelRatio, size = 12 * px, gap = 6 * px;
    const taken = lists.flatMap((l) => l.at.map(([x, y]) => [x - gap / 2, y - gap / 2, x + gap / 2, y + gap / 2]));
    const free = (b) => b[0] >= u.bbox.left && b[2] <= u.bbox.left + u.bbox.width && b[1] >= u.bbox.top && b[3] <= u.bbox.top + u.bbox.height && !taken.some((t) => b[0] < t[2] && t[0] < b[2] && b[1] < t[3] && t[1] < b[3]);
    ctx.save();
    ctx.font = size + "px " + css("--sans");
    ctx.textBaseline = "bottom";
    ctx.textAlign = "left";
    ctx.lineJoin = "round";
    ctx.lineWidth = 3 * px;
    ctx.strokeStyle = css("--card");
    ctx.fillStyle = css("--ink");
    for (const l of lists.filter((x) => x.labeled)) l.at.forEach(([x, y], i) => {
      const text = l.points[i].short, w = ctx.measureText(text).width;
      const spots = [[x - w / 2, y - gap], [x + gap, y + size / 2], [x - gap - w, y + size / 2], [x - w / 2, y + gap + size]];
      const spot = spots.find(([a, b]) => free([a, b - size, a + w, b]));
      if (!spot) return;
      taken.push([spot[0] - gap / 2, spot[1] - size, spot[0] + w + gap / 2, spot[1]]);
      ctx.strokeText(text, ...spot);
      ctx.fillText(text, ...spot);
    });
    ctx.restore();
  }

  // even lets the last chart of a grid fill its row.
  function even(grid) {
    let column = 0, last = null;
    for (const f of grid.children) {
      if (f.classList.contains("wide")) { if (column === 1) last.classList.add("wide"); column = 0; } else { column = 1 - column; last = f; }
    }
    if (column === 1) last.classList.add("wide");
    return grid;
  }

  // key is a legend: [name, color, dash pattern]; a null pattern is an area.
  function key(list) {
    return el("div", { class: "key" }, list.map(([name, c, dash]) => el("span", {}, el("i", { class: dash === null ? "area" : "", style: sample(`var(--c${c})`, dash) }), name)));
  }

  // heat draws how many requests had which latency when. o: title, note, step, cells: [slice, bucket, count, ...],
  // edges and lows (of each bucket), slices.
  function heat(o) {
    const order = o.edges.map((e, i) => i).sort((a, b) => o.edges[a] - o.edges[b]);
    const rows = () => {
      const sums = new Map();
      for (let i = 0; i < o.cells.length; i += 3) sums.set(o.cells[i + 1], (sums.get(o.cells[i + 1]) || 0) + o.cells[i + 2]);
      return order.map((b) => ["up to " + dur(o.edges[b]), num(sums.get(b) || 0)]);
    };
    const { figure: f, host } = figure(o.title, o.note, ["latency", "requests"], rows, o.wide);
    let most = 1;
    for (let i = 2; i < o.cells.length; i += 3) most = Math.max(most, o.cells[i]);
    const lowest = Math.max(1e-4, Math.min(...o.lows) / 1.15), highest = Math.max(...o.edges) * 1.15;
    grow(host, (width) => new uPlot({
      width, height: o.height || 260, legend: { show: false }, cursor: { drag: { x: true, y: false }, points: { show: false }, sync: o.cursor && { key: o.cursor, scales: ["x", null] } },
      scales: { x: { time: false, range: [0, o.slices * o.step] }, y: { distr: 3, range: () => [lowest, highest] } },
      axes: [
        axis({ size: 30, label: "seconds", labelSize: 16, labelGap: 0, labelFont: "12px " + css("--sans") }),
        axis({ size: 62, splits: logSplits, filter: keep, values: (u, vs) => vs.map(tickOf(dur)) }),
      ],
      series: [{}, { stroke: "transparent", points: { show: false }, paths: () => null }],
      hooks: {
        draw: [(u) => {
          const ctx = u.ctx;
          ctx.save();
          ctx.beginPath();
          ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
          ctx.clip();
          ctx.fillStyle = css("--c0");
          for (let i = 0; i < o.cells.length; i += 3) {
            const t = o.cells[i] * o.step, upper = o.edges[o.cells[i + 1]], lower = Math.max(lowest, o.lows[o.cells[i + 1]]);
            const x0 = u.valToPos(t, "x", true), x1 = u.valToPos(t + o.step, "x", true);
            const y1 = u.valToPos(upper, "y", true), y0 = u.valToPos(lower, "y", true);
            ctx.globalAlpha = 0.12 + 0.88 * Math.log1p(o.cells[i + 2]) / Math.log1p(most);
            ctx.fillRect(x0, y1, Math.max(1, x1 - x0), Math.max(1, y0 - y1));
          }
          ctx.restore();
        }],
      },
    }, [[0, o.slices * o.step], [lowest, highest]], host));
    return f;
  }

  // stack draws rows of parts that add up, as bars of one scale. rows: [{name, inner, parts: [value]}].
  function stack(o) {
    const most = Math.max(...o.rows.map((r) => r.parts.reduce((a, b) => a + b, 0)), 1e-9);
    const head = ["", ...o.names, "in all"];
    const rows = () => o.rows.map((r) => [r.name, ...r.parts.map(dur), dur(r.parts.reduce((a, b) => a + b, 0))]);
    const { figure: f, host } = figure(o.title, o.note, head, rows, o.wide);
    const grid = el("div", { class: "bars" });
    for (const r of o.rows) {
      const sum = r.parts.reduce((a, b) => a + b, 0);
      grid.append(el("span", { class: r.inner ? "inner" : "" }, r.name),
        el("div", { class: "bar", title: o.names.map((n, i) => n + " " + dur(r.parts[i])).join(", ") },
          r.parts.map((p, i) => el("i", { style: `width:${(100 * p) / most}%;background:var(--c${o.colors[i]})` }))),
        el("span", {}, dur(sum)));
    }
    host.append(grid, key(o.names.map((n, i) => [n, o.colors[i], null])));
    return f;
  }

  // top is the header of every page.
  function top(title, when, home) {
    return el("header", { class: "top" }, home ? el("a", { class: "brand", href: home }, "redline") : el("span", { class: "brand" }, "redline"), el("h1", {}, title), el("span", { class: "when" }, when), el("button", { type: "button", "aria-label": "light or dark", on: { click: theme } }, "◐"));
  }

  function theme() {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    redraw();
  }

  // sweep releases charts that are no longer on the page; those that are not on the page yet stay.
  const sweep = () => { for (const d of drawn) if (d.shown && !d.host.isConnected) { d.end(); drawn.delete(d); } };
  const redraw = () => { sweep(); for (const d of drawn) d.redraw(); };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  // Paper is white and narrow, whatever the screen is: charts are drawn again for printing, and again afterwards.
  let before;
  addEventListener("beforeprint", () => {
    const root = document.documentElement;
    before = root.dataset.theme;
    root.dataset.theme = "light";
    root.classList.add("paper");
    redraw();
  });
  addEventListener("afterprint", () => {
    const root = document.documentElement;
    if (before) root.dataset.theme = before; else delete root.dataset.theme;
    root.classList.remove("paper");
    redraw();
  });

  return { el, num, rate, dur, durTick, percent, lasted, css, color, table, lines, curve, heat, stack, join, key, figure, cycle, even, top, redraw, sweep };
})();
