// A run as far as it has been computed: for each metric a row a look, a column a port or a flow.

const PORT_METRICS = ["queue", "busy", "marks", "drops"];
const FLOW_METRICS = ["cwnd", "rate", "alpha", "srtt", "flight", "arrived"];

// A chunk as film.py packs it; `offset` is where it begins. Returns it and where the next one begins.
export function readChunk(buffer, offset) {
  const view = new DataView(buffer);
  const length = view.getUint32(offset, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, offset + 4, length)));
  return { head, body: offset + 4 + length };
}

export class Film {
  constructor(header) {
    this.header = header;
    this.layout = header.layout;
    this.ports = header.layout.ports.length;
    this.done = 0;
    this.state = "running";
    this.port = Object.fromEntries(
      PORT_METRICS.map((name) => [name, new Float32Array(header.looks * this.ports)]));
    this.flows = new Map(); // id -> {id, load, src, dst, cwnd, rate, alpha, srtt, flight, arrived}
    this.peak = new Float32Array(this.ports);
    this.sum = new Float64Array(this.ports);
  }

  // Takes over a chunk; returns where the next one begins.
  append(buffer, offset) {
    const { head, body } = readChunk(buffer, offset);
    let place = body;
    const take = (count) => {
      const values = new Float32Array(buffer.slice(place, place + 4 * count));
      place += 4 * count;
      return values;
    };
    const cells = head.looks * this.ports;
    for (const name of PORT_METRICS) this.port[name].set(take(cells), head.from * this.ports);
    const queue = this.port.queue;
    for (let i = head.from * this.ports; i < head.from * this.ports + cells; i++) {
      const port = i % this.ports;
      this.sum[port] += queue[i];
      if (queue[i] > this.peak[port]) this.peak[port] = queue[i];
    }
    const columns = FLOW_METRICS.map(() => take(head.looks * head.flows.length));
    head.flows.forEach(([id, load, src, dst], column) => {
      const flow = this.flow(id, load, src, dst);
      FLOW_METRICS.forEach((name, metric) => {
        for (let look = 0; look < head.looks; look++) {
          const value = columns[metric][look * head.flows.length + column];
          flow[name][head.from + look] = value;
          if (name === "rate" && value > 0) flow.moved += value;
        }
      });
    });
    this.done = head.from + head.looks;
    return place;
  }

  flow(id, load, src, dst) {
    if (!this.flows.has(id)) {
      const empty = () => new Float32Array(this.header.looks).fill(NaN);
      const metrics = Object.fromEntries(FLOW_METRICS.map((name) => [name, empty()]));
      this.flows.set(id, { id, load, src, dst, moved: 0, ...metrics });
    }
    return this.flows.get(id);
  }

  // The flows to draw: those that have delivered most, in the order of their numbers.
  shown(most) {
    const flows = [...this.flows.values()].sort((a, b) => b.moved - a.moved || a.id - b.id);
    return flows.slice(0, most).sort((a, b) => a.id - b.id);
  }

  get computed() { return this.done ? this.time(this.done - 1) : 0; }

  time(look) { return Math.min((look + 1) * this.header.every_ps, this.header.duration_ps); }

  // The last look at or before a time; -1 before the first.
  lookAt(ps) {
    if (ps >= this.header.duration_ps) return this.done - 1;
    return Math.min(Math.floor(ps / this.header.every_ps) - 1, this.done - 1);
  }

  at(name, look, port) { return look < 0 ? 0 : this.port[name][look * this.ports + port]; }

  // Whether a port's link is down at a look: the experiment's events say from when until when, in ps.
  dead(look, port) {
    const now = look < 0 ? 0 : this.time(look);
    return !!this.layout.ports[port].dead?.some(([from, until]) => from <= now && (until === null || now < until));
  }

  column(name, port) {
    const values = new Array(this.done);
    for (let look = 0; look < this.done; look++) values[look] = this.port[name][look * this.ports + port];
    return values;
  }

  // Packets of a full bar: one scale for all ports, so that bars compare. A limit that no queue comes near is not drawn out.
  get longest() {
    const marks = this.layout.ports.map((port) => port.mark_at || 0);
    const limits = this.layout.ports.map((port, i) => (this.peak[i] > (port.limit || 0) / 4 ? port.limit || 0 : 0));
    return Math.max(1, ...this.peak, ...marks, ...limits);
  }

  // The time of the look before the first mark or drop at a switch; without any, before its longest queue is half as long as it gets.
  get eventful() {
    const busiest = this.busiest();
    const happens = (name, enough) => {
      for (let look = 0; look < this.done; look++) {
        const some = (port, number) => port.switch && this.at(name, look, number) >= enough(number);
        if (this.layout.ports.some(some)) return look;
      }
      return -1;
    };
    const first = ["marks", "drops"].map((name) => happens(name, () => 1)).filter((look) => look >= 0);
    const half = (port) => (port === busiest ? Math.max(this.peak[port] / 2, 1) : Infinity);
    const look = first.length ? Math.min(...first) : happens("queue", half);
    return look < 1 ? 0 : this.time(look - 1);
  }

  // The switch's port that has held most: the one to look at first.
  busiest() {
    let best = -1;
    this.layout.ports.forEach((port, number) => {
      if (port.switch && (best < 0 || this.sum[number] > this.sum[best])) best = number;
    });
    return Math.max(best, 0);
  }
}
