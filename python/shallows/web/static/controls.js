// Run, pause, step, speed and time, with the keys that do the same; and the list of flows to choose from.

import { flowColour, unitOf } from "shallows-player/colours.js";

const SPEEDS = [
  ["as fast as it goes", Infinity], ["whole run in 10 s", "tenth"], ["10 ms a second", 1e10], ["1 ms a second", 1e9],
  ["200 us a second", 2e8], ["50 us a second", 5e7], ["10 us a second", 1e7],
];
const MOST_CHIPS = 12;
const LONGEST_S = 60;
const ICONS = {
  play: "M4 2 L14 8 L4 14 Z", pause: "M3 2 H7 V14 H3 Z M9 2 H13 V14 H9 Z",
  back: "M2 2 H4 V14 H2 Z M14 2 L5 8 L14 14 Z", next: "M12 2 H14 V14 H12 Z M2 2 L11 8 L2 14 Z",
};
const icon = (name) => `<svg viewBox="0 0 16 16" width="15" height="15" aria-hidden="true"><path fill="currentColor" d="${ICONS[name]}"/></svg>`;

export class Controls {
  constructor(root, player) {
    this.player = player;
    player.speed = Infinity;
    const bar = document.createElement("div");
    bar.className = "sh-controls";
    bar.innerHTML = `
      <button type="button" class="sh-play" aria-label="Play" title="Play or pause (space)">${icon("play")}</button>
      <button type="button" class="sh-back" aria-label="Step back" title="Step back (left arrow)">${icon("back")}</button>
      <button type="button" class="sh-next" aria-label="Step" title="Step (right arrow)">${icon("next")}</button>
      <select class="sh-speed" aria-label="Speed">${SPEEDS.map(([name], i) => `<option value="${i}">${name}</option>`).join("")}</select>
      <input type="range" class="sh-time" min="0" max="1000" value="0" step="any" aria-label="Time">
      <output class="sh-clock"></output>
      <select class="sh-heat" aria-label="What colours the matrix" hidden>
        <option value="busy">coloured by load</option><option value="queue">coloured by queue</option></select>`;
    root.append(bar);
    this.bar = bar;
    const part = (name) => bar.querySelector(`.sh-${name}`);
    [this.button, this.time, this.clock, this.speed, this.heat] = ["play", "time", "clock", "speed", "heat"].map(part);
    this.button.onclick = () => this.toggle();
    part("back").onclick = () => player.step(-1);
    part("next").onclick = () => player.step(1);
    this.time.oninput = () => player.seek((this.time.value / 1000) * player.duration);
    this.speed.onchange = () => this.setSpeed();
    this.heat.onchange = () => { player.heat = this.heat.value; player.forceFrame = true; };
    root.addEventListener("keydown", (event) => this.key(event));
    const legend = document.createElement("p");
    legend.className = "sh-legend";
    const parts = [
      '<span class="sh-ramp"></span> link, idle to full', 'dotted: down', '<b class="sh-bar"></b> queue and threshold',
      '<b class="sh-mark">▲</b> marked', '<b class="sh-drop">✕</b> dropped', 'bar: data, framed if marked', 'ring: acknowledgement',
    ];
    legend.innerHTML = parts.map((part) => `<span>${part}</span>`).join(" ");
    root.append(legend);
  }

  begin(duration) {
    this.duration = duration;
    if (SPEEDS[this.speed.value][1] === "tenth") this.setSpeed();
  }

  setSpeed() {
    const wanted = SPEEDS[this.speed.value][1];
    const { player } = this;
    player.speed = wanted === "tenth" ? player.duration / 10 : wanted;
    if (player.playing || player.follow) player.follow = player.speed === Infinity && player.playing;
    player.forceFrame = true;
  }

  // A speed at which so much of a run lasts a minute at most, and as slow as that allows.
  setPace(ps) {
    const slow = SPEEDS.findLastIndex(([, speed]) => ps / speed <= LONGEST_S);
    this.speed.value = SPEEDS[slow][1] === Infinity ? 1 : slow;
    this.setSpeed();
  }

  toggle() {
    const { player } = this;
    const computing = player.films.some((film) => film && film.state === "running");
    if (player.playing || (player.follow && computing)) player.pause();
    else {
      if (player.speed === Infinity && !computing) {
        this.speed.value = 1; // the run is over: play it as a film
        this.setSpeed();
      }
      player.play();
    }
    player.forceFrame = true;
  }

  key(event) {
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    const steps = { ArrowLeft: -1, ArrowRight: 1 }, ports = { ArrowUp: -1, ArrowDown: 1 };
    if (event.key === " " && event.target.tagName !== "BUTTON") this.toggle();
    else if (event.key in steps) this.player.step(steps[event.key]);
    else if (event.key in ports && event.target.tagName === "CANVAS") this.player.nextPort(ports[event.key]);
    else if (event.key === "Home") this.player.seek(0);
    else if (event.key === "End") this.player.seek(this.player.computed);
    else if (event.key === "+" || event.key === "-") {
      const next = Number(this.speed.value) + (event.key === "+" ? -1 : 1);
      this.speed.value = Math.min(Math.max(next, 0), SPEEDS.length - 1);
      this.setSpeed();
    } else return;
    event.preventDefault();
  }

  tick() {
    const { player } = this;
    if (document.activeElement !== this.time || player.playing) this.time.value = (1000 * player.view) / player.duration;
    const [unit, size] = unitOf(player.duration);
    const digits = (player.speed <= 1e9 ? 4 : 2) + { s: 1, ms: 0, us: -1 }[unit];
    this.clock.textContent = !player.films.some(Boolean) ? "" : `${(player.view / size).toFixed(digits)} of ${+(player.duration / size).toPrecision(6)} ${unit}`;
    const computing = player.films.some((film) => film && film.state === "running");
    const going = player.playing || (player.follow && computing);
    if (going !== this.going) {
      this.going = going;
      this.button.innerHTML = icon(going ? "pause" : "play");
      this.button.setAttribute("aria-label", going ? "Pause" : "Play");
    }
    this.heat.hidden = !player.films.some((film) => film && film.layout.kind === "matrix");
  }

  // Buttons that choose a flow; the others become faint.
  flows(box, film, chosen) {
    const shown = film.shown(MOST_CHIPS), { dark } = this.player;
    const key = JSON.stringify([shown.map((flow) => [flow.id, flow.src]), chosen, dark]);
    if (box.dataset.key === key) return;
    box.dataset.key = key;
    box.replaceChildren(...shown.map((flow) => {
      const chip = document.createElement("button");
      const { names } = film.layout;
      chip.type = "button";
      chip.className = "sh-chip";
      chip.setAttribute("aria-pressed", flow.id === chosen);
      chip.style.borderColor = flowColour(flow.id, dark);
      chip.textContent = `${flow.id}: ${names[flow.src]} to ${names[flow.dst]}`;
      chip.title = film.header.loads[flow.load] || "";
      chip.onclick = () => this.player.chooseFlow(flow.id);
      return chip;
    }));
  }
}
