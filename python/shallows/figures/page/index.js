// Figures with a cursor, a zoom and series to hide, in place of the images that carry their numbers.
// The image stays for paper, for a reader without scripts, and behind the button "As printed".

const FONT = "system-ui, sans-serif";
const STRIP = 34; // px above the panels for the legend and the tools
const SYMBOLS = { o: "circle", ".": "circle", s: "rect", D: "diamond", d: "diamond", "^": "triangle",
  v: "path://M0 0 L10 0 L5 9 Z", "*": "path://M5 0 L6.5 3.6 L10 3.8 L7.3 6.2 L8.2 10 L5 7.9 L1.8 10 L2.7 6.2 L0 3.8 L3.5 3.6 Z",
  x: "path://M0 1 L1 0 L5 4 L9 0 L10 1 L6 5 L10 9 L9 10 L5 6 L1 10 L0 9 L4 5 Z",
  P: "path://M3.5 0 H6.5 V3.5 H10 V6.5 H6.5 V10 H3.5 V6.5 H0 V3.5 H3.5 Z" };

// The numbers that an SVG carries, or null.
export function numbersOf(svg) {
  const found = new DOMParser().parseFromString(svg, "image/svg+xml").querySelector("metadata#shallows");
  return found ? JSON.parse(found.textContent) : null;
}

export const worded = (value) => (Number.isFinite(value) ? String(+value.toPrecision(5)) : "-");

// A place on an axis as its reader knows it: the name of a tick there, else the number.
function placed(axis, value) {
  const named = axis.named && axis.ticks.find(([at]) => Math.abs(at - value) < 0.45);
  return named?.[1] || worded(value);
}

// Whether an end of an axis is a number that a reader expects there.
function even(end, [low, high]) {
  const step = 10 ** Math.floor(Math.log10(Math.abs(high - low) / 4));
  return Math.abs(end / step - Math.round(end / step)) < 1e-6;
}

// Ticks of a logarithmic axis: powers of ten, or finer where there are few of them.
function decades(low, high) {
  const span = Math.log10(high / low);
  const found = [];
  if (span < 0.7) {
    const rough = (high - low) / 5, ten = 10 ** Math.floor(Math.log10(rough));
    const step = ten * [1, 2, 5, 10].find((each) => each * ten >= rough);
    for (let at = Math.ceil(low / step) * step; at <= high; at += step) found.push(+at.toPrecision(6));
    return found;
  }
  for (let ten = Math.floor(Math.log10(low)); 10 ** ten <= high; ten++) {
    for (const step of span > 2.2 ? [1] : [1, 2, 5]) found.push(+(step * 10 ** ten).toPrecision(3));
  }
  return found.filter((at) => at >= low && at <= high);
}

function axisOf(axis, side, grid, look) {
  const [low, high] = axis.limits;
  const label = { color: look.soft, fontSize: look.font - 1, hideOverlap: true, margin: 6,
    showMinLabel: even(low, axis.limits), showMaxLabel: even(high, axis.limits) };
  const ends = { showMinLabel: true, showMaxLabel: true };
  const found = { gridIndex: grid, type: axis.log ? "log" : "value", min: Math.min(low, high), max: Math.max(low, high),
    inverse: low > high, name: axis.label, nameLocation: "middle", axisLine: { show: true, onZero: false, lineStyle: { color: look.edge } },
    nameGap: side === "x" ? look.font * 2 : look.font * (axis.ticks ? 4.4 : 3.2), axisTick: { show: true, lineStyle: { color: look.edge } },
    nameTextStyle: { color: look.text, fontSize: look.font }, minorSplitLine: { show: false },
    splitLine: { show: !axis.named, lineStyle: { color: look.line } },
    axisLabel: label, axisPointer: { label: { show: false } } };
  if (axis.ticks) {
    const values = axis.ticks.map(([at]) => at);
    const words = new Map(axis.ticks.map(([at, word]) => [worded(at), word]));
    found.axisLabel = { ...label, ...ends, customValues: values, formatter: (value) => words.get(worded(value)) ?? "", hideOverlap: false };
    found.axisTick.customValues = values;
  } else if (axis.log) {
    const values = decades(found.min, found.max);
    found.axisLabel = { ...label, ...ends, customValues: values, formatter: worded };
    found.axisTick.customValues = values;
  } else found.axisLabel.formatter = worded;
  return found;
}

// The printed colours on a dark page: thin lines need lighter ones.
const LIGHTER = { "#0072b2": "#4aa8ea", "#d55e00": "#ff8a4c", "#009e73": "#2fc79a" };

// Dark ink on a dark page would not be seen.
function seen(colour, look) {
  if (!look.dark) return colour;
  const value = parseInt(colour.slice(1), 16);
  const [red, green, blue] = [value >> 16, (value >> 8) & 255, value & 255];
  if (0.3 * red + 0.59 * green + 0.11 * blue < 60) return look.text;
  if (red === green && green === blue) return look.text;
  return LIGHTER[colour.toLowerCase()] ?? colour;
}

function seriesOf(one, grid, look) {
  const colour = seen(one.colour, look);
  const common = { name: one.name, xAxisIndex: grid, yAxisIndex: grid, animation: false, color: colour, data: one.rows, clip: true };
  if (one.area) {
    const draw = (params, api) => {
      const [a, b] = [api.coord([api.value(0), api.value(1)]), api.coord([api.value(2), api.value(3)])];
      const shape = { x: Math.min(a[0], b[0]), y: Math.min(a[1], b[1]), width: Math.abs(b[0] - a[0]), height: Math.abs(a[1] - b[1]) };
      return { type: "rect", shape, style: { fill: one.rows[params.dataIndex][5] ?? colour, opacity: one.alpha } };
    };
    return { ...common, data: one.rows.map((row) => row.slice(0, 5)), type: "custom", renderItem: draw, encode: { x: [0, 2], y: [1, 3] }, silent: one.alpha < 0.5 };
  }
  const symbol = SYMBOLS[one.marker];
  const thick = Math.max(1, one.width * look.scale * 0.8);
  return { ...common, type: "line", connectNulls: false, step: one.step || false, showSymbol: !!symbol, showAllSymbol: true,
    symbol: symbol || "none", symbolSize: Math.max(4, (one.marker === "." ? 0.6 : 1) * one.size * look.scale),
    sampling: one.rows.length > 800 && !symbol ? "minmax" : undefined, itemStyle: { opacity: one.alpha },
    lineStyle: { width: one.dash ? thick : 0, type: one.dash || "solid", opacity: one.alpha }, emphasis: { disabled: !symbol } };
}

// Whether a panel's series run along x, so that one cursor reads them all.
const along = (panel) => panel.series.some(({ rows, area }) => !area && rows.length > 3 &&
  rows.every(([x], i) => x !== null && (i === 0 || rows[i - 1][0] <= x)));

const escaped = (text) => String(text).replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

function read(panel, entries) {
  const lines = entries.filter(({ value }) => value?.[0] != null);
  if (!lines.length) return "";
  const cell = panel.series.find(({ area, rows }) => area && rows[0].length > 4);
  if (cell) {
    const [x0, y0, x1, y1, number] = lines[0].value;
    const line = (axis, at, or) => `${escaped(axis.label || or)}: ${escaped(placed(axis, at))}`;
    return [line(panel.x, (x0 + x1) / 2, "x"), line(panel.y, (y0 + y1) / 2, "y"), `${escaped(cell.value)} <b>${worded(number)}</b>`].join("<br>");
  }
  const head = `${escaped(panel.x.label || "x")}: ${escaped(placed(panel.x, lines[0].value[0]))}`;
  const names = new Map(lines.map((each) => [`${each.seriesName} ${each.value[1]}`, each]));
  return [head, ...[...names.values()].slice(0, 16).map(({ marker, seriesName, value }) =>
    `${marker}${escaped(/^series/.test(seriesName) ? panel.y.label || "y" : seriesName)}: <b>${escaped(placed(panel.y, value[1]))}</b>`)].join("<br>");
}

export function optionOf(numbers, look) {
  // Ticks at 0, 1, 2 ... with words, or with other numbers, are names of rows.
  for (const axis of numbers.panels.flatMap(({ x, y }) => [x, y])) {
    axis.named = axis.ticks?.length > 0 && !axis.log && axis.ticks.some(([at, word]) => String(at) !== word);
  }
  const { panels } = numbers;
  const names = [...new Set(panels.flatMap((panel) => panel.series.map((one) => one.name)).filter(Boolean))];
  const percent = (share, whole, shift = 0) => `${(100 * (share * whole + shift)) / (look.height)}%`;
  const grids = panels.map(({ box: [x, y, w, h] }) => ({ left: `${100 * x}%`, width: `${100 * w}%`,
    top: percent(y, look.whole, STRIP), height: percent(h, look.whole) }));
  const series = panels.flatMap((panel, grid) => panel.series.map((one) => seriesOf(one, grid, look)));
  const text = (at, words, size, extra) => ({ type: "text", left: `${100 * at[0]}%`, top: percent(at[1], look.whole, STRIP),
    silent: true, style: { text: words, fill: look.text, font: `${size}px ${FONT}`, ...extra } });
  const titles = panels.filter((panel) => panel.title).map(({ title, box }) =>
    text([box[0], Math.max(0, box[1] - (look.font + 6) / (look.whole))], title, look.font));
  panels.forEach(({ notes }, grid) => notes.forEach(({ at, text: words, colour, size }) => series.push({
    type: "scatter", xAxisIndex: grid, yAxisIndex: grid, silent: true, data: [at], symbolSize: 0.01, animation: false, tooltip: { show: false },
    label: { show: true, position: "inside", formatter: () => words, color: seen(colour, look), fontSize: Math.max(9, Math.min(13, size * look.scale)) } })));
  const alike = panels.map((_, grid) => grid).filter((grid) => panels[grid].x.label === panels[0].x.label && along(panels[grid]));
  return {
    animation: false, textStyle: { fontFamily: FONT, color: look.text }, grid: grids, series, graphic: titles,
    xAxis: panels.map((panel, grid) => axisOf(panel.x, "x", grid, look)),
    yAxis: panels.map((panel, grid) => axisOf(panel.y, "y", grid, look)),
    legend: { show: names.length > 1, data: names, type: "scroll", top: 4, left: 4, width: look.width - 120, textStyle: { color: look.text, fontSize: look.font - 1 },
      icon: "roundRect", itemWidth: 16, itemHeight: 5, pageIconColor: look.text, pageTextStyle: { color: look.text }, inactiveColor: look.edge },
    tooltip: { trigger: panels.some(along) ? "axis" : "item", confine: true, transitionDuration: 0, backgroundColor: look.back, borderColor: look.edge,
      textStyle: { color: look.text, fontSize: 12 },
      formatter: (given) => { const all = [given].flat(); const at = all[0]; return at ? read(panels[at.axisIndex ?? series[at.seriesIndex].xAxisIndex], all) : ""; } },
    axisPointer: { link: alike.length > 1 ? [{ xAxisIndex: alike }] : [], lineStyle: { color: look.edge } },
    toolbox: { right: 4, top: -6, itemSize: 14, iconStyle: { borderColor: look.soft }, feature: {
      dataZoom: { title: { zoom: "Drag a box to zoom", back: "Zoom back" }, filterMode: "none" }, restore: { title: "Whole figure" } } },
    aria: { enabled: true },
  };
}

function lookOf(numbers, box, dark) {
  const width = box.clientWidth;
  const scale = width / numbers.size[0];
  const ink = dark ? { text: "#e6e6e6", soft: "#a8b0ba", edge: "#717c88", line: "#333b44", back: "#222932" }
    : { text: "#1c1c1c", soft: "#555d66", edge: "#8a929b", line: "#e2e5e8", back: "#ffffff" };
  const font = Math.max(9, Math.min(15, 8 * scale)), printed = scale * numbers.size[1];
  // Letters do not shrink without end: on a narrow screen panels move apart for the ticks and the title between them.
  const gaps = numbers.panels.flatMap(({ box: [x, y, , h] }) =>
    numbers.panels.filter(({ box }) => box[0] === x && box[1] > y).map(({ box }) => box[1] - y - h));
  const least = Math.min(...gaps.filter((gap) => gap > 0.01));
  const whole = Math.max(printed, Math.min(2 * printed, (2.4 * font + 12) / least));
  // The printed legend's room below the panels stays empty here: only axis labels need some.
  const lowest = Math.max(...numbers.panels.map(({ box: [, y, , h] }) => y + h));
  const words = numbers.panels.some(({ x }) => x.ticks?.length);
  const below = words ? Infinity : 4.2 * font + 10;
  const height = STRIP + Math.min(whole, whole * lowest + below);
  return { ...ink, dark, scale, width, whole, height, font };
}

// Shows the figure in a box beside an image that carries its numbers; `dark` tells whether the page is dark now.
export class Figure {
  constructor(echarts, image, numbers, dark) {
    this.image = image;
    this.numbers = numbers;
    this.dark = dark;
    this.box = document.createElement("div");
    this.box.className = "sh-interactive";
    this.box.style.width = image.style.width || "100%";
    this.box.setAttribute("role", "img");
    this.box.setAttribute("aria-label", `${image.alt}: drag a box to zoom, choose series in the legend`);
    this.button = document.createElement("button");
    this.button.type = "button";
    this.button.className = "sh-as-printed";
    this.button.onclick = () => this.show(image.classList.contains("sh-hidden"));
    image.after(this.box, this.button);
    this.show(false);
    this.chart = echarts.init(this.box, null, { renderer: "canvas", height: 10, width: 10 });
    this.watch = new ResizeObserver(() => this.draw());
    this.watch.observe(this.box);
    this.draw();
  }

  show(printed) {
    this.image.classList.toggle("sh-hidden", !printed);
    this.box.classList.toggle("sh-hidden", printed);
    this.button.textContent = printed ? "With a cursor" : "As printed";
  }

  draw() {
    if (!this.box.clientWidth) return;
    const look = lookOf(this.numbers, this.box, this.dark());
    const shape = `${look.width} ${look.dark}`;
    if (shape === this.shape) return;
    this.shape = shape;
    this.box.style.height = `${look.height}px`;
    this.chart.resize({ width: look.width, height: look.height });
    this.chart.setOption(optionOf(this.numbers, look), { notMerge: true });
  }

  close() {
    this.watch.disconnect();
    this.chart.dispose();
    this.box.remove();
    this.button.remove();
    this.image.classList.remove("sh-hidden");
  }
}

// Of a report: every image that carries its numbers, when the reader comes near it.
export function begin(echarts) {
  const query = matchMedia("(prefers-color-scheme: dark)");
  const figures = [];
  const near = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue;
      near.unobserve(target);
      const data = Uint8Array.from(atob(target.src.slice(target.src.indexOf(",") + 1)), (c) => c.charCodeAt(0));
      const numbers = numbersOf(new TextDecoder().decode(data));
      if (numbers) figures.push(new Figure(echarts, target, numbers, () => query.matches));
    }
  }, { rootMargin: "600px" });
  document.querySelectorAll('figure img[src^="data:image/svg+xml"]').forEach((image) => near.observe(image));
  query.addEventListener("change", () => figures.forEach((figure) => figure.draw()));
  window.shallowsFigures = figures;
}
