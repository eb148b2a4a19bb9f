// Plays films of runs: one scheme, or two side by side, with one clock. It asks for nothing by itself: the page
// or the exported file hands it films, and packets on request.

import { Charts } from "shallows-player/charts.js";
import { Controls } from "shallows-player/controls.js";
import { Film } from "shallows-player/film.js";
import { Matrix } from "shallows-player/matrix.js";
import { Network } from "shallows-player/network.js";

const CHARTS_EVERY_MS = 120;
// Every variable of a flow, with its name, digits and unit.
const VARIABLES = [["window", "cwnd", 1e-3, "kB"], ["in flight", "flight", 1e-3, "kB"], ["rate", "rate", 1e-6, "Mb/s"],
  ["smoothed RTT", "srtt", 1, "us"], ["alpha", "alpha", 1, ""], ["arrived", "arrived", 1e-3, "kB"]];

// The variables of a chosen flow at a look, in words.
function inspect(element, film, id, look) {
  const flow = film.flows.get(id);
  element.hidden = !flow;
  if (!flow) return;
  const told = VARIABLES.filter(([, key]) => look >= 0 && flow[key][look] === flow[key][look])
    .map(([name, key, scale, unit]) => `${name} ${+(flow[key][look] * scale).toPrecision(4)} ${unit}`.trim());
  element.textContent = `flow ${id} at the cursor: ${told.join(", ") || "it does not stand"}`;
}

const SLOW = 1e9; // ps of the run a second of the clock: below, single packets can be followed

export class Player {
  // options: echarts, packets(side, at_ps) -> promise or null, onPace(computing), dark, reduced
  constructor(root, options) {
    this.root = root;
    this.options = options;
    this.dark = !!options.dark;
    this.films = [];
    this.names = [];
    this.chosen = { port: null, flow: null };
    this.heat = "busy";
    this.view = 0;
    this.follow = true;
    this.playing = false;
    this.frames = 0;
    this.begun = 0; // runs
    this.stale = true;
    this.close = [];
    root.classList.add("sh-player");
    this.controls = new Controls(root, this);
    this.stage = document.createElement("div");
    this.stage.className = "sh-stage";
    this.empty = document.createElement("p");
    this.empty.className = "sh-empty";
    this.empty.textContent = "The network appears here as soon as the experiment has no fault.";
    root.append(this.stage, this.empty);
    this.sides = [];
    this.running = true;
    this.last = performance.now();
    this.loop = this.loop.bind(this);
    requestAnimationFrame(this.loop);
  }

  // ---- what it is given ----

  begin(side, header, name) {
    this.empty.remove();
    while (this.sides.length <= side) this.addSide();
    const film = new Film(header);
    this.begun++;
    this.films[side] = film;
    this.names[side] = name || "";
    this.close[side] = null;
    const own = this.sides[side];
    const kind = header.layout.kind;
    if (own.kind !== kind) {
      own.kind = kind;
      own.drawing = kind === "matrix" ? new Matrix(own.canvas) : new Network(own.canvas);
    }
    own.canvas.classList.toggle("sh-tall", kind === "matrix" || header.layout.names.length > 26);
    if (this.chosen.port !== null && this.chosen.port >= film.ports) this.chosen.port = null;
    this.controls.begin(film.header.duration_ps);
    this.stale = true;
    if (this.playing && this.view > film.header.duration_ps) this.view = 0;
    if (!this.playing) this.follow = true;
    return film;
  }

  append(side, buffer, offset) {
    const next = this.films[side].append(buffer, offset);
    this.stale = true;
    return next;
  }

  // The run is over, or has failed.
  end(side, state) {
    this.films[side].state = state;
    this.stale = true;
  }

  drop(side) {
    this.films.length = Math.min(this.films.length, side);
    while (this.sides.length > side) this.removeSide();
    this.stale = true;
  }

  theme(dark) {
    this.dark = dark;
    this.stale = true;
  }

  // The reader has taken another text size: the drawing and the charts follow.
  resize() { this.stale = this.forceFrame = true; }

  // ---- what the reader does ----

  get computed() {
    const known = this.films.filter(Boolean).map((film) => film.computed);
    return known.length ? Math.max(...known) : 0;
  }

  get duration() {
    const known = this.films.filter(Boolean).map((film) => film.header.duration_ps);
    return known.length ? Math.max(...known) : 1;
  }

  play(speed) {
    this.opened = true;
    if (speed) this.speed = speed;
    if (this.view >= this.duration) this.view = 0;
    this.playing = true;
    this.follow = this.speed === Infinity;
    this.options.onPace?.(true);
  }

  // Shows a run that is over from where something happens, once, unless the reader has done something first.
  open() {
    if (this.opened || this.playing || this.films.some((film) => film && film.state === "running")) return;
    this.opened = true;
    this.seek(Math.min(...this.films.filter(Boolean).map((film) => film.eventful)));
    this.controls.setPace(this.duration - this.view);
    if (!this.options.reduced) this.play();
  }

  pause() {
    this.opened = true;
    this.playing = this.follow = false;
    if (this.films.some((film) => film && film.state === "running")) this.options.onPace?.(false);
  }

  seek(ps) {
    this.opened = true;
    this.follow = false;
    this.view = Math.min(Math.max(ps, 0), this.computed);
    this.stalePackets = true;
  }

  step(direction) {
    this.pause();
    const film = this.films.find(Boolean);
    if (!film) return;
    const every = this.speed <= SLOW ? this.speed / 20 : film.header.every_ps;
    this.seek(this.view + direction * every);
  }

  choosePort(port) {
    this.chosen.port = port;
    this.stale = true;
  }

  nextPort(direction) {
    const film = this.films.find(Boolean);
    if (film) this.choosePort((this.port(this.films.indexOf(film)) + direction + film.ports) % film.ports);
  }

  chooseFlow(flow) {
    this.chosen.flow = this.chosen.flow === flow ? null : flow;
    this.stale = true;
  }

  port(side) { return this.chosen.port ?? this.films[side].busiest(); }

  drawn(side = 0) { return this.sides[side].charts.drawn(); }

  // ---- the clock ----

  loop(now) {
    if (!this.running) return;
    requestAnimationFrame(this.loop); // first, so that a frame that fails is not the last one
    const passed = Math.min((now - this.last) / 1000, 0.25);
    this.last = now;
    if (this.follow) this.view = this.computed;
    else if (this.playing) {
      this.view = Math.min(this.view + passed * this.speed, this.computed);
      if (this.view >= this.duration) this.playing = false;
    }
    if (!this.options.reduced || !this.playing || now - (this.drawnAt || 0) > 250) {
      this.draw(now);
      this.drawnAt = now;
    }
  }

  draw(now) {
    const moved = this.view !== this.drawnView;
    if (this.stale && now - (this.chartsAt || 0) > CHARTS_EVERY_MS) {
      this.chartsAt = now;
      this.stale = false;
      this.drawCharts();
      this.forceFrame = true;
    }
    if (moved || this.forceFrame || this.fresh) {
      this.frames++;
      this.forceFrame = this.fresh = false;
      this.drawnView = this.view;
      this.films.forEach((film, side) => film && this.drawSide(film, side));
      this.controls.tick();
    }
    this.films.forEach((film, side) => film && this.wantPackets(side));
  }

  drawSide(film, side) {
    const { drawing, charts, readout, title } = this.sides[side];
    const look = film.lookAt(this.view);
    const seen = this.close[side];
    const packets = seen && this.closely && Math.abs(seen.at_ps - this.view) < SLOW / 20 ? seen : null;
    drawing.draw({ film, look, dark: this.dark, chosen: this.port(side), heat: this.heat, packets });
    charts.place(this.view);
    inspect(this.sides[side].inspector, film, this.chosen.flow, look);
    const port = this.port(side), name = film.layout.ports[port]?.name;
    title.textContent = title.title = this.names[side];
    title.hidden = !this.names[side];
    const down = film.dead(look, port) ? "the link is down, " : "";
    readout.textContent = `${name}: ${down}${Math.round(film.at("queue", look, port))} packets, ` +
      `${Math.round(100 * film.at("busy", look, port))} % busy, ${Math.round(film.at("marks", look, port))} marked, ` +
      `${Math.round(film.at("drops", look, port))} dropped`;
  }

  drawCharts() {
    const two = this.films.filter(Boolean).length > 1;
    let scales = null;
    if (two) {
      scales = {};
      this.films.forEach((film, side) => {
        const own = Charts.scales(film, this.port(side));
        for (const key in own) scales[key] = Math.max(scales[key] || 0, own[key]);
      });
    }
    this.films.forEach((film, side) => {
      if (!film || !film.done) return;
      const { charts, flows } = this.sides[side];
      charts.show({ film, port: this.port(side), flow: this.chosen.flow, dark: this.dark, scales });
      this.controls.flows(flows, film, this.chosen.flow);
    });
  }

  get closely() {
    const small = this.films.every((film) => !film || film.layout.kind === "graph");
    return small && this.speed <= SLOW && !this.follow;
  }

  // Single packets, one request at a time: slow motion is as fast as they come.
  async wantPackets(side) {
    if (!this.closely || !this.options.packets || this.asking?.[side]) return;
    if (this.close[side]?.at_ps === Math.round(this.view)) return;
    this.asking = { ...this.asking, [side]: true };
    try {
      const film = this.films[side];
      const found = await this.options.packets(side, Math.round(this.view));
      if (found && this.films[side] === film) {
        this.close[side] = found;
        this.fresh = true;
      }
    } finally {
      this.asking[side] = false;
    }
  }

  // ---- its parts ----

  addSide() {
    const box = document.createElement("section");
    box.className = "sh-side";
    box.innerHTML = '<h2 class="sh-title" hidden></h2><canvas class="sh-network" tabindex="0" role="img" ' +
      'aria-label="The network: links by load or dead, queues at their ports; the arrow keys up and down choose a port"></canvas><p class="sh-readout" aria-live="off"></p>' +
      '<div class="sh-flows"></div><p class="sh-inspector" aria-live="off" hidden></p><div class="sh-charts" role="img" aria-label="Queue, windows, rates over time"></div>';
    this.stage.append(box);
    const part = (name) => box.querySelector(`.sh-${name}`);
    const canvas = part("network");
    const side = { box, canvas, title: part("title"), readout: part("readout"), flows: part("flows"),
      inspector: part("inspector"), charts: new Charts(this.options.echarts, part("charts"), (ps) => { this.playing = false; this.seek(ps); }) };
    canvas.addEventListener("click", (event) => {
      const box = canvas.getBoundingClientRect();
      const port = side.drawing?.portAt(event.clientX - box.left, event.clientY - box.top);
      if (port !== null && port !== undefined) this.choosePort(port);
    });
    canvas.addEventListener("mousemove", (event) => {
      const box = canvas.getBoundingClientRect();
      const port = side.drawing?.portAt(event.clientX - box.left, event.clientY - box.top);
      canvas.style.cursor = port === null || port === undefined ? "default" : "pointer";
      const film = this.films[this.sides.indexOf(side)];
      canvas.title = film && port !== null && port !== undefined ? film.layout.ports[port].name : "";
    });
    side.watch = new ResizeObserver(() => { this.forceFrame = true; });
    side.watch.observe(canvas);
    this.sides.push(side);
    this.stage.classList.toggle("sh-two", this.sides.length > 1);
  }

  removeSide() {
    const side = this.sides.pop();
    side.charts.close();
    side.watch.disconnect();
    side.box.remove();
    this.stage.classList.toggle("sh-two", this.sides.length > 1);
  }

  destroy() {
    this.running = false;
    while (this.sides.length) this.removeSide();
  }
}
