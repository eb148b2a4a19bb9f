// A large network as its ports: a block for each pair of tiers, a row for each switch, a cell for each port.
// The hottest ports have a frame, and are listed by name.

import { blank } from "shallows-player/canvas.js";
import { heat, textScale, theme } from "shallows-player/colours.js";

const HOTTEST = 5;

export class Matrix {
  constructor(canvas) {
    this.canvas = canvas;
    this.cells = [];
  }

  draw(view) {
    const { canvas } = this;
    const sheet = blank(canvas);
    if (!sheet) return;
    const { pen, width, height } = sheet;
    const colours = theme(view.dark);
    const { film, look } = view;
    const { blocks } = film.layout;
    const most = Math.max(1, ...film.peak);
    const value = (port) =>
      view.heat === "queue" ? film.at("queue", look, port) / most : film.at("busy", look, port);
    this.cells = [];
    this.scale = textScale();
    // On a narrow screen the list of hottest ports stands below the blocks.
    const narrow = width < 620 * this.scale;
    const gap = narrow ? 10 : 18, list = narrow ? 0 : 200 * this.scale;
    const bottom = height - (narrow ? (HOTTEST + 1) * 18 * this.scale + 12 : 0);
    const columns = blocks.map((block) => Math.max(...block.rows.map((row) => row.ports.length)));
    const free = width - list - gap * (blocks.length + 1);
    const share = columns.map((count) => Math.sqrt(count));
    const all = share.reduce((a, b) => a + b, 0);
    let left = gap;
    const seen = [];
    blocks.forEach((block, index) => {
      const room = (free * share[index]) / all;
      const [w, h] = [room / columns[index], (bottom - 44) / block.rows.length];
      pen.fillStyle = colours.text;
      pen.font = narrow ? this.font(11) : this.font();
      pen.textAlign = "left";
      pen.textBaseline = "alphabetic";
      const fits = pen.measureText(block.title).width < room + gap - 4;
      const lines = fits ? [block.title] : block.title.split(/ (?=to )/);
      lines.forEach((line, i) => pen.fillText(line, left, 24 + (i + 1 - lines.length) * 13, room + gap - 4));
      block.rows.forEach((row, y) => row.ports.forEach((port, x) => {
        const hot = value(port);
        const cell = [left + x * w, 30 + y * h, Math.max(w - 0.6, 0.6), Math.max(h - 0.6, 0.6)];
        pen.fillStyle = heat(hot, view.dark);
        if (film.dead(look, port)) this.cross(pen, cell, colours);
        else pen.fillRect(...cell);
        if (film.at("drops", look, port)) this.sign(pen, cell, colours.drop);
        else if (film.at("marks", look, port)) this.sign(pen, cell, colours.mark);
        seen.push({ port, hot, cell });
        this.cells.push({ port, cell });
      }));
      left += room + gap;
    });
    this.hottest(pen, seen, colours, view, narrow ? [gap, bottom, 18] : [width - list, 20, 36]);
  }

  // A port whose link is down.
  cross(pen, [x, y, w, h], colours) {
    pen.strokeStyle = colours.drop;
    pen.lineWidth = Math.min(1.4, w / 3, h / 3);
    pen.beginPath();
    pen.moveTo(x, y); pen.lineTo(x + w, y + h);
    pen.moveTo(x, y + h); pen.lineTo(x + w, y);
    pen.stroke();
  }

  sign(pen, [x, y, w, h], colour) {
    pen.fillStyle = colour;
    pen.beginPath();
    pen.moveTo(x, y);
    pen.lineTo(x + w * 0.6, y);
    pen.lineTo(x, y + h * 0.6);
    pen.fill();
  }

  hottest(pen, seen, colours, view, [left, top, step]) {
    const { film, look } = view;
    const waiting = ({ port }) => film.at("queue", look, port);
    const inside = ({ port }) => (film.layout.ports[port].switch ? 1 : 0);
    // Of many full links those of switches with the longest queues.
    seen.sort((a, b) => b.hot - a.hot || inside(b) - inside(a) || waiting(b) - waiting(a) || a.port - b.port);
    pen.font = this.font();
    pen.fillStyle = colours.text;
    pen.fillText("Hottest ports", left, top);
    seen.slice(0, HOTTEST).forEach(({ port, cell }, place) => {
      pen.strokeStyle = colours.chosen;
      pen.lineWidth = 2;
      pen.strokeRect(cell[0] - 2, cell[1] - 2, cell[2] + 4, cell[3] + 4);
      const beside = step < 30;
      const y = top + (beside ? 18 : 24) * (beside ? this.scale : 1) + place * step * this.scale;
      const { name } = film.layout.ports[port];
      pen.fillStyle = colours.text;
      pen.fillText(name, left, y);
      pen.fillStyle = colours.soft;
      const busy = Math.round(100 * film.at("busy", look, port));
      pen.fillText(`${busy} % busy, ${Math.round(film.at("queue", look, port))} packets`,
        left + (beside ? 120 * this.scale : 0), y + (beside ? 0 : 16 * this.scale));
      this.cells.push({ port, cell: [left, y - 14, (beside ? 320 : 190) * this.scale, (step - 2) * this.scale] });
    });
    const chosen = seen.find(({ port }) => port === view.chosen);
    if (chosen) {
      pen.strokeStyle = colours.text;
      pen.lineWidth = 2;
      pen.strokeRect(chosen.cell[0] - 1, chosen.cell[1] - 1, chosen.cell[2] + 2, chosen.cell[3] + 2);
    }
  }

  font(size = 13) { return `${Math.round(size * this.scale)}px system-ui, sans-serif`; }

  portAt(x, y) {
    const hit = this.cells.find(({ cell }) =>
      x >= cell[0] && x <= cell[0] + cell[2] && y >= cell[1] && y <= cell[1] + cell[3]);
    return hit ? hit.port : null;
  }
}
