// The network as lines: links by how busy they are or as dead, queues at their ports, marks, drops, and single packets.

import { blank, label } from "shallows-player/canvas.js";
import { flowColour, heat, textScale, theme } from "shallows-player/colours.js";

const REVERSE = 1, CE = 2, AGAIN = 8;
const ROOM = 40; // px between neighbours, below which nodes are drawn small

export class Network {
  constructor(canvas) {
    this.canvas = canvas;
    this.hits = [];
  }

  // `view`: film, look, dark, chosen port, packets ({at_ps, packets} or null), fonts in px.
  draw(view) {
    const { canvas } = this;
    const sheet = blank(canvas);
    if (!sheet) return;
    const { pen, width, height } = sheet;
    this.pen = pen;
    this.view = view;
    this.colours = theme(view.dark);
    const { layout } = view.film;
    const [side, top] = [Math.min(46, width * 0.06), 22];
    this.places = layout.places.map(([x, y]) => [side + x * (width - 2 * side), top + y * (height - 2 * top)]);
    this.scale = textScale();
    this.apart = this.nearest();
    this.small = layout.names.length > 26 || this.apart < ROOM * Math.min(this.scale, 1.3);
    this.signs = [];
    const longest = Math.max(...layout.names.map((name, node) => (layout.hosts[node] ? name.length : 0)));
    this.named = !this.small || longest * 9 * this.scale < this.apart; // all hosts have their names, or none
    this.hits = [];
    layout.ports.forEach((port, number) => this.link(port, number));
    layout.ports.forEach((port, number) => this.queue(port, number));
    if (view.packets) this.packets(view.packets);
    layout.names.forEach((name, node) => this.node(name, node));
    this.signs.forEach((draw) => draw());
  }

  // The least distance between two nodes: equal for all frames of a film of one size.
  nearest() {
    const key = this.view.film.layout;
    const size = this.canvas.clientWidth * 1e5 + this.canvas.clientHeight;
    if (this.measured?.key === key && this.measured.size === size) return this.measured.least;
    let least = Infinity;
    this.places.forEach(([x, y], i) => this.places.slice(0, i).forEach(([u, v]) => { least = Math.min(least, Math.hypot(x - u, y - v)); }));
    this.measured = { key, size, least };
    return least;
  }

  // A port's line: beside that of the other direction, from edge to edge of the nodes.
  line(port) {
    const [from, to] = [this.places[port.from], this.places[port.to]];
    const [dx, dy] = [to[0] - from[0], to[1] - from[1]];
    const length = Math.hypot(dx, dy) || 1;
    const [ux, uy] = [dx / length, dy / length];
    const gap = this.small ? 2.2 : 4.5, [near, far] = this.small ? [9, 9] : [17, 17];
    const shift = [uy * gap, -ux * gap];
    return {
      from: [from[0] + ux * near + shift[0], from[1] + uy * near + shift[1]],
      to: [to[0] - ux * far + shift[0], to[1] - uy * far + shift[1]],
      ux, uy, length: Math.max(length - near - far, 1),
    };
  }

  link(port, number) {
    const { pen, view } = this;
    const { from, to, ...line } = this.line(port);
    const busy = view.film.at("busy", view.look, number);
    const dead = view.film.dead(view.look, number);
    pen.strokeStyle = dead ? this.colours.soft : heat(busy, view.dark);
    pen.lineWidth = dead ? 1.4 : (this.small ? 0.8 : 1.4) + (this.small ? 2 : 3.6) * Math.min(busy, 1);
    pen.lineCap = dead ? "butt" : "round";
    if (dead) pen.setLineDash([2, 5]);
    pen.beginPath();
    pen.moveTo(...from);
    pen.lineTo(...to);
    pen.stroke();
    pen.setLineDash([]);
    if (dead) this.cross(from, to, port);
    this.hits.push({ number, from, to });
    if (number === view.chosen) this.arrow(from, to, line);
  }

  // One on each cable: both its directions have failed, or the one that has it.
  cross(from, to, port) {
    const { pen, view } = this;
    const { ports } = view.film.layout;
    const other = ports.findIndex((back) => back.from === port.to && back.to === port.from);
    const both = other >= 0 && view.film.dead(view.look, other);
    if (both && port.from > port.to) return;
    const [a, b] = both ? [this.places[port.from], this.places[port.to]] : [from, to];
    const [x, y, size] = [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2, (this.small ? 4 : 7) * this.scale];
    this.signs.push(() => {
      for (const [colour, wide] of [[this.colours.back, 6], [this.colours.drop, 2.4]]) {
        pen.strokeStyle = colour;
        pen.lineWidth = wide;
        pen.lineCap = "round";
        pen.beginPath();
        pen.moveTo(x - size, y - size); pen.lineTo(x + size, y + size);
        pen.moveTo(x - size, y + size); pen.lineTo(x + size, y - size);
        pen.stroke();
      }
    });
  }

  arrow(from, to, { ux, uy }) {
    const { pen } = this;
    pen.strokeStyle = this.colours.chosen;
    pen.lineWidth = 1.2;
    pen.setLineDash([4, 3]);
    pen.beginPath();
    pen.moveTo(from[0] + uy * 5, from[1] - ux * 5);
    pen.lineTo(to[0] + uy * 5, to[1] - ux * 5);
    pen.stroke();
    pen.setLineDash([]);
  }

  // A bar beside the line, where the packets wait; a tick where marking begins; marks and drops above it.
  queue(port, number) {
    const { pen, view, colours } = this;
    const { film, look } = view;
    const held = film.at("queue", look, number);
    const [marks, drops] = [film.at("marks", look, number), film.at("drops", look, number)];
    if (!held && !marks && !drops && number !== view.chosen) return;
    const line = this.line(port);
    const most = film.longest;
    const room = Math.min(line.length * 0.6, this.small ? 26 : 96);
    const [thick, off] = this.small ? [4, 3] : [11, 7];
    const [nx, ny] = [line.uy, -line.ux];
    const at = (along, away) => [
      line.from[0] + line.ux * along + nx * away, line.from[1] + line.uy * along + ny * away];
    const bar = (length, colour, fill) => {
      pen.beginPath();
      [at(0, off), at(length, off), at(length, off + thick), at(0, off + thick)].forEach((p, i) =>
        i ? pen.lineTo(...p) : pen.moveTo(...p));
      pen.closePath();
      if (fill) { pen.fillStyle = colour; pen.fill(); } else { pen.strokeStyle = colour; pen.lineWidth = 1; pen.stroke(); }
    };
    if (port.switch || (held > 1 && !this.small)) {
      if (!this.small || number === view.chosen) bar(room, colours.line, false);
      bar((room * Math.min(held, most)) / most, heat(held / most, view.dark), true);
      if (port.mark_at && (held > 1 || number === view.chosen)) {
        const along = (room * port.mark_at) / most;
        pen.strokeStyle = colours.mark;
        pen.lineWidth = 2;
        pen.beginPath();
        pen.moveTo(...at(along, off - 2));
        pen.lineTo(...at(along, off + thick + 3));
        pen.stroke();
      }
    }
    const signs = [];
    if ((held > 1 && port.switch) || number === view.chosen) signs.push([`${Math.round(held)}`, colours.text]);
    if (marks) signs.push([`▲${Math.round(marks)}`, colours.mark]);
    if (drops) signs.push([`✕${Math.round(drops)}`, colours.drop]);
    if (this.small && number !== view.chosen && !marks && !drops) return;
    this.signs.push(() => {
      pen.font = this.font(this.small ? 11 : 13);
      pen.textBaseline = "middle";
      pen.textAlign = "left";
      let [x, y] = at(room / 2, off + thick + 11);
      x -= signs.reduce((sum, [text]) => sum + pen.measureText(text).width + 6, 0) / 2;
      for (const [text, colour] of signs) {
        pen.fillStyle = colour;
        label(pen, text, x, y, colours);
        x += pen.measureText(text).width + 6;
      }
    });
  }

  font(size) { return `${Math.round(size * this.scale)}px system-ui, sans-serif`; }

  // Each packet of the look where its first bit is: waiting, leaving, or on the way.
  packets({ packets }) {
    const { pen, colours } = this;
    const { layout } = this.view.film;
    for (const [number, flow, size, lands, flags] of packets) {
      const port = layout.ports[number];
      if (!port) continue;
      const send = (size * 8e12) / port.rate_bps, travel = port.delay_ps + send;
      if (lands > travel) continue; // it waits, and the bar shows it
      const line = this.line(port);
      const head = Math.min(1, Math.max(0, 1 - (lands - send) / travel));
      const tail = Math.min(1, Math.max(0, 1 - lands / travel));
      const at = (share) => [line.from[0] + line.ux * line.length * share, line.from[1] + line.uy * line.length * share];
      const ack = flags & REVERSE;
      pen.strokeStyle = pen.fillStyle = flowColour(flow, this.view.dark);
      if (ack) {
        pen.beginPath();
        pen.arc(...at(tail), this.small ? 1.6 : 2.6, 0, 2 * Math.PI);
        pen.lineWidth = 1.4;
        pen.stroke();
      } else {
        const [from, to] = [at(tail), at(Math.max(head, tail + 4 / line.length))];
        pen.lineCap = "butt";
        if (flags & (CE | AGAIN)) {
          pen.strokeStyle = flags & AGAIN ? colours.drop : colours.mark;
          pen.lineWidth = this.small ? 6 : 12;
          pen.beginPath(); pen.moveTo(...from); pen.lineTo(...to); pen.stroke();
          pen.strokeStyle = flowColour(flow, this.view.dark);
        }
        pen.lineWidth = this.small ? 4 : 8;
        pen.beginPath(); pen.moveTo(...from); pen.lineTo(...to); pen.stroke();
      }
    }
  }

  node(name, node) {
    const { pen, colours } = this;
    const host = this.view.film.layout.hosts[node];
    const [x, y] = this.places[node];
    const size = this.small ? 6 : 13 * Math.min(this.scale, 1.4);
    pen.fillStyle = colours.node;
    pen.strokeStyle = colours.edge;
    pen.lineWidth = 1.6;
    pen.beginPath();
    if (host) pen.arc(x, y, size, 0, 2 * Math.PI);
    else pen.roundRect(x - size * 1.25, y - size, size * 2.5, size * 2, 4);
    pen.fill();
    pen.stroke();
    const inside = !this.small && name.length < 4;
    pen.font = this.font(inside ? 12 : 13);
    if (host && !this.named) return;
    pen.fillStyle = colours.text;
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    const below = y + size + 11 < this.canvas.clientHeight;
    if (inside) pen.fillText(name, x, y + 0.5);
    else label(pen, name, x, below ? y + size + 10 : y - size - 9, colours);
  }

  // The port whose line is nearest to a place on the canvas, within reach.
  portAt(x, y) {
    let best = null, least = 14;
    for (const { number, from, to } of this.hits) {
      const [dx, dy] = [to[0] - from[0], to[1] - from[1]];
      const part = Math.min(1, Math.max(0, ((x - from[0]) * dx + (y - from[1]) * dy) / (dx * dx + dy * dy || 1)));
      const away = Math.hypot(from[0] + part * dx - x, from[1] + part * dy - y);
      if (away < least) [best, least] = [number, away];
    }
    return best;
  }
}
