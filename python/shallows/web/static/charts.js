// Queue, window, rate, estimate and marks over time: one above the other, with one cursor and one zoom.

import { flowColour, flowDash, textScale, theme, unitOf } from "shallows-player/colours.js";

const MOST_LINES = 12;

// An axis to a round number at or above `most`, in at most `parts` even steps.
function even(most, parts) {
  const ten = 10 ** Math.floor(Math.log10(most / parts));
  const interval = ten * [1, 2, 2.5, 5, 10].find((each) => each * ten * parts >= most);
  return { max: Math.ceil(most / interval) * interval, interval };
}

// The rows of a film, in units of its size.
function rowsOf(film, port = 0) {
  const fast = Math.max(...film.layout.ports.map((port) => port.rate_bps)) >= 2e9;
  const long = film.header.duration_ps > 5e11;
  return [
    { key: "queue", title: `Queue of ${film.layout.ports[port].name} (packets)` },
    { key: "cwnd", title: "Congestion window (kB)", scale: 1e-3, optional: true },
    { key: "rate", title: fast ? "Rate (Gb/s)" : "Rate (Mb/s)", scale: fast ? 1e-9 : 1e-6, smooth: 100 },
    { key: "alpha", title: "Alpha, marked share", optional: true },
    { key: "srtt", title: long ? "Smoothed RTT (ms)" : "Smoothed RTT (us)", scale: long ? 1e-3 : 1 },
    { key: "marks", title: "Marked (solid), dropped (dashed)" },
    // Time and sequence, of a chosen flow: the slope is its rate. The sender counts data as in flight until their
    // acknowledgement comes, so that the lines are further apart than data on the way alone.
    { key: "arrived", title: "Sequence (kB): arrived (solid), and in flight on top (dashed)", scale: 1e-3, chosen: true },
  ];
}

// The values in a row's unit; each the mean of `window` looks up to it. NaN, where a flow does not stand, is a gap.
function smoothed(values, count, scale, window) {
  const out = new Array(count);
  let sum = 0, known = 0;
  for (let i = 0; i < count; i++) {
    const fresh = values[i], old = i >= window ? values[i - window] : NaN;
    if (fresh === fresh) { sum += fresh; known++; }
    if (old === old) { sum -= old; known--; }
    out[i] = fresh === fresh ? (window > 1 ? (sum / known) * scale : fresh * scale) : null;
  }
  return out;
}

export class Charts {
  constructor(echarts, element, onTime) {
    this.chart = echarts.init(element, null, { renderer: "canvas" });
    this.chart.group = "shallows";
    echarts.connect("shallows");
    this.element = element;
    this.cursor = document.createElement("div");
    this.cursor.className = "sh-cursor";
    element.append(this.cursor);
    this.chart.getZr().on("click", (event) => {
      const point = [event.offsetX, event.offsetY];
      if (this.film && this.chart.containPixel({ gridIndex: 0 }, [point[0], this.firstY])) {
        onTime(this.chart.convertFromPixel({ xAxisIndex: 0 }, point[0]) * this.unit[1]);
      }
    });
    this.shape = "";
    this.resizing = new ResizeObserver(() => { this.chart.resize(); this.place(this.at); });
    this.resizing.observe(element);
  }

  // `scales`: greatest values by row, where two schemes share their axes.
  show({ film, port, flow, dark, scales }) {
    this.film = film;
    const shown = film.shown(MOST_LINES);
    if (film.flows.has(flow) && !shown.some((each) => each.id === flow)) shown.push(film.flows.get(flow));
    // Of two schemes both have the rows that one of them fills, so that rows stand side by side.
    const filled = (row) => (scales ? row.key in scales : shown.some((each) => each[row.key].some((v) => v === v)));
    const one = film.flows.get(flow);
    const rows = rowsOf(film, port).filter((row) => (row.chosen ? one : !row.optional || filled(row)));
    const colours = theme(dark);
    this.unit = unitOf(film.header.duration_ps);
    const times = Array.from({ length: film.done }, (_, look) => film.time(look) / this.unit[1]);
    const source = { t: times, queue: film.column("queue", port), marks: film.column("marks", port),
      drops: film.column("drops", port) };
    const series = [];
    rows.forEach((row, grid) => {
      const line = (name, key, extra) => series.push({ name, type: "line", xAxisIndex: grid, yAxisIndex: grid,
        encode: { x: "t", y: key }, showSymbol: false, sampling: "lttb", animation: false, silent: true,
        lineStyle: { width: 1.6 }, emphasis: { disabled: true }, ...extra });
      if (row.key === "queue") {
        const mark = film.layout.ports[port].mark_at;
        line("queue", "queue", { color: colours.chosen, areaStyle: { opacity: 0.15 }, step: "end",
          markLine: mark ? { silent: true, symbol: "none", animation: false, data: [{ yAxis: mark }],
            label: { formatter: `K = ${mark}`, color: colours.mark, position: "insideEndTop", fontSize: 12 * textScale(),
              backgroundColor: colours.back, padding: [1, 3], borderRadius: 3 },
            lineStyle: { color: colours.mark, width: 1.5 } } : undefined });
      } else if (row.chosen) {
        const sent = one.arrived.map((bytes, look) => bytes + one.flight[look]);
        source.arrived = smoothed(one.arrived, film.done, row.scale, 1);
        source.sent = smoothed(sent, film.done, row.scale, 1);
        line("arrived", "arrived", { color: flowColour(one.id, dark) });
        line("sent", "sent", { color: flowColour(one.id, dark), lineStyle: { width: 1.2, type: "dashed" } });
      } else if (row.key === "marks") {
        line("marks", "marks", { color: colours.mark, lineStyle: { width: 1.6 } });
        line("drops", "drops", { color: colours.drop, lineStyle: { width: 1.6, type: "dashed" } });
      } else {
        for (const each of shown) {
          const key = `${row.key}${each.id}`;
          source[key] = smoothed(each[row.key], film.done, row.scale || 1, Charts.window(film, row));
          const faint = flow !== null && flow !== each.id;
          line(`flow ${each.id}`, key, { color: flowColour(each.id, dark), z: faint ? 2 : 3,
            lineStyle: { width: flow === each.id ? 2.6 : 1.5, opacity: faint ? 0.25 : 1, type: flowDash(each.id) } });
        }
      }
    });
    this.put(rows, series, source, colours, scales);
    this.place(this.at);
  }

  put(rows, series, source, colours, scales) {
    const height = this.element.clientHeight || 640;
    const size = textScale();
    const [top, bottom, left, right] = [26, 62, 52, 26].map((room) => room * size);
    const each = (height - top - bottom) / rows.length;
    const [unit, span] = this.unit;
    const end = this.film.header.duration_ps / span;
    const shape = JSON.stringify([rows.map((row) => row.title), end, height, size, colours.text, series.map((s) => [s.name, s.color])]);
    this.firstY = top + each / 2;
    this.sides = [left, right];
    const label = { color: colours.soft, fontSize: 12 * size };
    const option = { dataset: { source }, series };
    if (shape !== this.shape) Object.assign(option, {
      animation: false,
      textStyle: { fontFamily: "system-ui, sans-serif" },
      axisPointer: { link: [{ xAxisIndex: "all" }], lineStyle: { color: colours.soft } },
      tooltip: { trigger: "axis", confine: true, transitionDuration: 0, backgroundColor: colours.node, borderColor: colours.line,
        textStyle: { color: colours.text, fontSize: 12 * size },
        valueFormatter: (value) => (value == null ? "" : Number(value).toPrecision(4)) },
      title: rows.map((row, i) => ({ text: this.title(row), left, top: top + i * each - 4 * size, padding: [0, 5],
        textStyle: { fontSize: 13 * size, fontWeight: 600, color: colours.text, width: this.element.clientWidth - left - right, overflow: "truncate" } })),
      grid: rows.map((_, i) => ({ left, right, top: top + i * each + 17 * size, height: each - 33 * size, outerBoundsMode: "none" })),
      xAxis: rows.map((_, i) => ({ type: "value", gridIndex: i, min: 0, max: end, axisLine: { lineStyle: { color: colours.line } },
        axisLabel: { ...label, show: i === rows.length - 1, hideOverlap: true, formatter: (v) => `${+v.toPrecision(6)} ${unit}` },
        splitLine: { lineStyle: { color: colours.line, opacity: 0.5 } } })),
      dataZoom: [
        { type: "inside", xAxisIndex: rows.map((_, i) => i), zoomOnMouseWheel: "ctrl", moveOnMouseWheel: false, filterMode: "none" },
        { type: "slider", xAxisIndex: rows.map((_, i) => i), height: 16, bottom: 8, filterMode: "none", showDataShadow: false,
          brushSelect: false, showDetail: false, borderColor: colours.line },
      ],
    });
    option.yAxis = rows.map((row, i) => ({ type: "value", gridIndex: i, min: 0,
      ...(scales?.[row.key] > 0 ? even(scales[row.key], size > 1.3 ? 2 : 3) : { max: null, interval: null }),
      splitNumber: 2, axisLabel: label, splitLine: { lineStyle: { color: colours.line, opacity: 0.5 } } }));
    this.chart.setOption(option, shape !== this.shape ? { notMerge: true } : { replaceMerge: ["series"] });
    this.shape = shape;
  }

  title(row) {
    const looks = Charts.window(this.film, row);
    const [unit, size] = unitOf(10 * looks * this.film.header.every_ps);
    const span = (looks * this.film.header.every_ps) / size;
    return looks > 1 ? row.title.replace("(", `(mean of ${+span.toPrecision(2)} ${unit}, `) : row.title;
  }

  // Looks over which a row is averaged: senders send in bursts, and a rate over one look shows little else.
  static window(film, row) { return row.smooth ? Math.max(1, Math.round(film.header.looks / row.smooth)) : 1; }

  // Greatest value of each row, for axes that two schemes share.
  static scales(film, port) {
    const scales = {};
    const note = (key, value) => { if (value > (scales[key] || 0)) scales[key] = value; };
    for (const name of ["queue", "marks", "drops"]) {
      for (const value of film.column(name, port)) note(name === "queue" ? "queue" : "marks", value);
    }
    for (const flow of film.shown(MOST_LINES)) {
      for (const row of rowsOf(film).filter(({ key, chosen }) => key in flow && !chosen)) {
        const values = smoothed(flow[row.key], film.done, row.scale || 1, Charts.window(film, row));
        for (const value of values) if (value !== null) note(row.key, value);
      }
    }
    return scales;
  }

  // Puts the cursor at a time.
  place(ps) {
    this.at = ps;
    if (!this.film || ps === undefined || !this.shape) return;
    const x = this.chart.convertToPixel({ xAxisIndex: 0 }, ps / this.unit[1]);
    const inside = x >= this.sides[0] - 1 && x <= this.element.clientWidth - this.sides[1] + 1;
    this.cursor.style.transform = `translateX(${x}px)`;
    this.cursor.style.display = inside ? "block" : "none";
  }

  // The numbers that are drawn, for tests and for copying.
  drawn() { return this.chart.getOption()?.dataset?.[0].source ?? { queue: [] }; }

  close() {
    this.resizing.disconnect();
    this.chart.dispose();
  }
}
