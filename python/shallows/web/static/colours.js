// Colours that colour-blind readers tell apart (Okabe and Ito 2008), and never colour alone: widths, shapes
// and numbers say the same.

export const FLOWS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6BB1", "#7F7F7F"];
const FLOWS_ON_DARK = ["#3D9BE9", "#F07A2B", "#1FC294", "#D98FBC", "#F0B93C", "#7CC9F2", "#B094D8", "#A8A8A8"];
export const DASHES = ["solid", "dashed", "dotted"];

const STOPS = {
  light: [[0, [176, 184, 194]], [0.35, [86, 140, 190]], [0.75, [230, 159, 0]], [1, [200, 60, 0]]],
  dark: [[0, [88, 98, 112]], [0.35, [86, 160, 220]], [0.75, [240, 185, 60]], [1, [255, 110, 50]]],
};

// From idle to full, 0 to 1.
export function heat(share, dark) {
  const stops = dark ? STOPS.dark : STOPS.light;
  const at = Math.min(Math.max(share || 0, 0), 1);
  let low = stops[0], high = stops[stops.length - 1];
  for (let i = 1; i < stops.length; i++) {
    if (at <= stops[i][0]) {
      [low, high] = [stops[i - 1], stops[i]];
      break;
    }
  }
  const part = high[0] > low[0] ? (at - low[0]) / (high[0] - low[0]) : 0;
  const mix = low[1].map((value, i) => Math.round(value + part * (high[1][i] - value)));
  return `rgb(${mix.join(",")})`;
}

export function theme(dark) {
  return dark
    ? { text: "#e8eaed", soft: "#a8b0ba", line: "#3c444e", node: "#27303a", edge: "#9aa5b1", back: "#14181d",
        mark: "#f0b93c", drop: "#ff7b6b", chosen: "#7cc4ff" }
    : { text: "#1c2127", soft: "#586069", line: "#d8dde3", node: "#ffffff", edge: "#49535e", back: "#ffffff",
        mark: "#b87900", drop: "#c0261c", chosen: "#0062b8" };
}
export const flowColour = (number, dark) => (dark ? FLOWS_ON_DARK : FLOWS)[number % FLOWS.length];
export const flowDash = (number) => DASHES[Math.floor(number / FLOWS.length) % DASHES.length];

// The reader's text size against the usual one: the page's buttons A- and A+ change it.
export const textScale = () => (parseFloat(getComputedStyle(document.documentElement).fontSize) || 16) / 16;

// The unit in which a span of so many ps is told: [its name, its size in ps].
export function unitOf(ps) {
  return ps >= 2e12 ? ["s", 1e12] : ps >= 2e8 ? ["ms", 1e9] : ["us", 1e6];
}
