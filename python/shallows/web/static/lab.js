// The laboratory without a server: the simulator runs in a worker, the experiment stands in the address.

import { Player } from "shallows-player/index.js";
import { source } from "shallows-player/completion.js";
import * as CM from "shallows-editor";
import { toml } from "shallows-editor/toml.js";

const TYPING_MS = 350, STUCK_MS = 3000, AUTOMATIC_MS = 3000;
const MOST_UNPACKED = 200_000;
const FAULTY_ADDRESS = "This address cannot be read: it was cut off or names no entry. Here is the first look in its place.";

const made = (tag, properties = {}, ...inner) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...inner);
  return element;
};

// ---- addresses: as shallows/web/pages/address.py packs them ----

const through = async (bytes, stream) => new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());

export async function pack(content) {
  const bytes = await through(new TextEncoder().encode(JSON.stringify(content)), new CompressionStream("deflate"));
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

// The packed document; null for anything else.
export async function unpack(text) {
  try {
    const bytes = Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));
    const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate")).getReader();
    const parts = [];
    let size = 0;
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      size += part.value.length;
      if (size > MOST_UNPACKED) return null;
      parts.push(part.value);
    }
    const content = JSON.parse(await new Blob(parts).text());
    return content && typeof content.text === "string" ? content : null;
  } catch { return null; }
}

// ---- sliders: the scale of shallows/web/editor/editing.py ----

export function placeOf({ low, high, ratio }, value) {
  const share = ratio ? Math.log(Math.max(value, low) / low) / Math.log(high / low) : (value - low) / (high - low);
  return Math.min(Math.max(share, 0), 1) * 100;
}

export function valueAt({ low, high, unit, whole, ratio }, at) {
  const share = Math.min(Math.max(at / 100, 0), 1);
  const number = ratio ? low * (high / low) ** share : low + (high - low) * share;
  const rounded = whole ? Math.max(Math.round(number), Math.ceil(low)) : Number(number.toPrecision(3));
  return unit ? `${rounded}${unit}` : rounded;
}

const lookup = (table, path) => path.split(".").reduce((value, key) => (typeof value === "string" && key === "kind" ? value : value?.[key]), table);
const shown = (fault) => `${fault.path ? `${fault.path}: ` : ""}${fault.rule}${fault.value ? `, got ${fault.value}` : ""}${fault.hint ? ` (${fault.hint})` : ""}`;

// Words of a shell line: quotes keep spaces together, as shlex does.
export function words(text) {
  const found = [];
  for (const match of text.matchAll(/(?:[^\s"']|"[^"]*"|'[^']*')+/g)) {
    // A quoted text within TOML, as in queue={kind="red"}, keeps its quotes in single quotes only.
    found.push(match[0].replace(/'([^']*)'|"([^"]*)"/g, (_, one, two) => one ?? two));
  }
  return found;
}

// The line of a text (from 1) on which a fault's path stands, or its table's.
export function lineOf(text, path) {
  const wanted = path.replace(/\[/g, ".").replace(/\]/g, "").split(".").map((part) => part.replace(/"/g, "")).filter(Boolean);
  const keys = (written) => written.trim().split(".").map((part) => part.trim().replace(/"/g, ""));
  let best = 1, depth = 0, table = [];
  text.split("\n").forEach((line, number) => {
    const bare = line.trim();
    let here;
    if (bare.startsWith("[")) here = table = keys(bare.replace(/^[[\] ]+|[[\] ]+$/g, ""));
    else if (bare.includes("=") && !bare.startsWith("#")) here = [...table, ...keys(bare.split("=")[0])];
    else return;
    let common = 0;
    while (common < Math.min(here.length, wanted.length) && here[common] === wanted[common]) common++;
    if (common > depth && common === here.length) [best, depth] = [number + 1, common];
  });
  const said = /\(line (\d+)\)/.exec(path);
  return said ? Number(said[1]) : best;
}

// ---- the worker ----

class Engine {
  constructor(code, module, heard) {
    Object.assign(this, { code, module, heard, asked: new Map(), next: 1 });
    this.begin();
  }

  begin() {
    this.worker = new Worker(URL.createObjectURL(new Blob([this.code], { type: "text/javascript" })));
    this.worker.onmessage = ({ data }) => {
      if (data.id) {
        this.asked.get(data.id)?.(data.answer);
        this.asked.delete(data.id);
      } else this.heard(data);
    };
    this.worker.onerror = (event) => this.heard({ crashed: event.message || "the worker ended" });
    this.worker.postMessage({ module: this.module });
  }

  ask(request) {
    const id = this.next++;
    return new Promise((resolve) => { this.asked.set(id, resolve); this.worker.postMessage({ id, ...request }); });
  }

  tell(message) { this.worker.postMessage(message); }

  // Ends all runs: at once if the worker answers, else with the worker itself.
  async stop() {
    const answered = Promise.all([0, 1].map((side) => this.ask({ do: "stop", side })));
    const late = new Promise((resolve) => setTimeout(resolve, STUCK_MS, "late"));
    if (await Promise.race([answered, late]) === "late") this.restart();
  }

  restart() {
    this.worker.terminate();
    this.asked.forEach((resolve) => resolve(null));
    this.asked.clear();
    this.begin();
  }
}

// ---- the page ----

export class Lab {
  constructor(root, { echarts, code, module, entries, known, controls, site }) {
    Object.assign(this, { root, entries, known, controls, changes: 0, number: 0, states: [], seconds: [0, 0] });
    const reduced = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.build(site);
    this.player = new Player(this.right, { echarts, reduced, dark: this.dark,
      onPace: (going) => [0, 1].forEach((side) => this.engine.tell({ do: "pace", side, going })),
      packets: (side, at_ps) => this.engine.ask({ do: "packets", side, at_ps }) });
    this.engine = new Engine(code, module, (news) => this.heard(news));
    window.shallowsApplyDark = (dark) => this.theme(dark);
    this.theme(shallowsIsDark());
    new MutationObserver(() => this.player.resize()).observe(document.documentElement, { attributes: true, attributeFilter: ["style"] });
    addEventListener("hashchange", () => { if (location.hash.slice(1) !== this.own) this.open(); });
    this.open();
  }

  get dark() { return document.body.classList.contains("body--dark"); }

  theme(dark) {
    document.body.classList.toggle("body--dark", dark);
    this.player?.theme(dark);
    this.editor?.dispatch({ effects: this.editorTheme.reconfigure(dark ? CM.themes.githubDark : CM.themes.vscodeLight) });
  }

  build(site) {
    const button = (text, label, click) => {
      const element = made("button", { type: "button", className: "lab-button", textContent: text, onclick: click });
      if (label) element.setAttribute("aria-label", label);
      return element;
    };
    const pages = made("nav", { className: "sh-pages" }, made("a", { href: "#lab", textContent: "Laboratory" }),
      made("a", { href: "#gallery", textContent: "Gallery" }), made("a", { href: site, textContent: "Documentation" }));
    pages.setAttribute("aria-label", "Pages");
    const head = made("header", { className: "sh-head lab-head" }, made("a", { href: "#lab", className: "sh-brand", textContent: "Shallows" }), pages,
      made("span", { className: "lab-space" }), button("A-", "Smaller text", () => shallowsZoom(-1)),
      button("A+", "Larger text", () => shallowsZoom(1)), button("◐", "Dark or light", () => shallowsDark()));
    this.notice = made("p", { className: "sh-failed lab-notice", hidden: true });
    this.notice.setAttribute("role", "alert");
    this.about = made("div", { className: "sh-about" });
    this.knobs = made("div", { className: "sh-left lab-column" });
    this.form = made("div", { className: "sh-field-row" });
    this.editorBox = made("div", { className: "sh-editor" });
    this.faults = made("div", { className: "sh-faults" });
    this.faults.setAttribute("role", "alert");
    this.state = made("span", { className: "sh-state" });
    this.state.setAttribute("aria-live", "polite");
    this.runButton = button("Run", "", () => this.run());
    this.runButton.classList.add("lab-run");
    this.stopButton = button("Stop", "", () => this.stop());
    this.stopButton.disabled = true;
    this.onButton = button("Run on", "Run for twice as long: the film goes on where it ended", () => this.runOn());
    this.onButton.disabled = true;
    this.other = made("input", { className: "lab-input", placeholder: "transport.cc=newreno queue.mark_at=20pkt", spellcheck: false, oninput: () => {
      this.second = this.other.value;
      this.names = null;
      this.changed();
    } });
    const second = made("label", { className: "lab-field" }, "Second scheme: settings that differ", this.other);
    this.hash = made("div", { className: "lab-hash", hidden: true });
    const save = button("Save mine.toml", "", () => {
      const link = made("a", { href: URL.createObjectURL(new Blob([this.text], { type: "text/plain" })), download: "mine.toml" });
      link.click();
    });
    this.copyButton = button("Copy address", "", () => shallowsCopy(location.href));
    this.left = made("div", { className: "sh-left lab-column" }, this.about, this.knobs, this.form, this.editorBox, this.faults,
      made("div", { className: "lab-row" }, this.runButton, this.stopButton, this.onButton, this.state), second, this.hash,
      made("div", { className: "lab-row" }, save, this.copyButton));
    this.right = made("div", { className: "sh-right" });
    this.laboratory = made("div", { className: "sh-lab" }, this.left, this.right);
    this.gallery = made("div", { hidden: true });
    this.root.append(head, made("main", { className: "sh-page lab-page", id: "content" }, this.notice, this.laboratory, this.gallery));
    this.editorTheme = new CM.Compartment();
    const extensions = [CM.basicSetup, CM.EditorView.lineWrapping, this.editorTheme.of([]), CM.StreamLanguage.define(toml),
      CM.EditorView.contentAttributes.of({ "aria-label": "Experiment file", tabindex: "0" }),
      CM.EditorState.languageData.of(() => [{ autocomplete: source(this.known) }]),
      CM.EditorView.updateListener.of((update) => {
        if (!update.docChanged || this.quiet) return;
        this.text = update.state.doc.toString();
        this.changed();
      })];
    this.editor = new CM.EditorView({ doc: "", extensions, parent: this.editorBox });
  }

  // Shows what the address says: an entry, a packed experiment, or the gallery.
  async open() {
    const given = new URLSearchParams(location.hash.slice(1));
    const cards = location.hash === "#gallery";
    this.gallery.hidden = !cards;
    this.laboratory.hidden = cards;
    if (cards) return this.cards();
    if (location.hash === "#lab" && this.lesson) return;
    const packed = given.get("x"), name = given.get("show");
    const content = packed ? await unpack(packed) : null;
    const entry = this.entries.find((each) => each.name === (content ? content.show : name));
    this.notice.hidden = !((packed && !content) || (name && !entry));
    this.notice.textContent = this.notice.hidden ? "" : FAULTY_ADDRESS;
    this.lesson = entry || (content ? null : this.entries[0]);
    const start = content || this.lesson;
    this.second = String(start.second || "");
    this.names = content && content.second !== this.lesson?.second ? null : this.lesson?.names;
    this.other.value = this.second;
    this.write(start.text);
    this.describe();
    document.title = `${this.lesson?.title || "Laboratory"} - Shallows`;
    this.seconds = [0, 0];
    await this.run();
  }

  write(text) {
    this.text = text;
    this.quiet = true;
    this.editor.dispatch({ changes: { from: 0, to: this.editor.state.doc.length, insert: text } });
    this.quiet = false;
  }

  describe() {
    const { lesson } = this;
    this.about.hidden = !lesson;
    if (lesson) this.about.replaceChildren(made("h1", { textContent: lesson.title }), made("p", { textContent: lesson.about }), made("p", { textContent: lesson.watch || "" }));
    this.sliders = (lesson?.drag || []).map((slider) => ({ ...slider }));
    this.knobs.replaceChildren(...this.sliders.map((slider, number) => {
      const value = made("span", { className: "sh-value" });
      const knob = made("input", { type: "range", min: 0, max: 100, step: 0.5, className: "lab-knob" });
      knob.setAttribute("aria-label", slider.label || slider.path);
      knob.oninput = () => this.drag(number);
      Object.assign(slider, { knob, output: value });
      return made("div", { className: "sh-slider" }, made("span", { textContent: slider.label || slider.path }), value, knob);
    }));
  }

  async drag(number) {
    const slider = this.sliders[number];
    const value = valueAt(slider, Number(slider.knob.value));
    slider.output.textContent = value;
    slider.knob.setAttribute("aria-valuetext", String(value));
    this.wanted = { ...this.wanted, [slider.path]: value };
    if (this.putting) return;
    this.putting = true;
    while (Object.keys(this.wanted).length) { // the last value only, however quick the hand
      const [[path, next]] = Object.entries(this.wanted);
      delete this.wanted[path];
      await this.set(path, next);
    }
    this.putting = false;
  }

  async set(path, value) {
    const answer = await this.engine.ask({ do: "put", text: this.text, path, value });
    if (!answer?.text) return this.say(`${path} was not set: ${answer?.error || "the worker ended"}`, true);
    if (answer.text === this.text) return;
    this.write(answer.text);
    await this.run();
  }

  changed() {
    const mine = ++this.changes;
    setTimeout(async () => {
      if (mine !== this.changes) return;
      if (Math.max(...this.seconds) < AUTOMATIC_MS) return this.run();
      const faults = await this.check();
      if (mine === this.changes && !this.showFaults(faults)) this.say("checked; press Run");
    }, TYPING_MS);
  }

  get overrides() { return words(this.second); }

  async check() {
    const { faults } = await this.engine.ask({ do: "check", text: this.text, settings: [] });
    if (faults.length || !this.second) return faults;
    return (await this.engine.ask({ do: "check", text: this.text, settings: this.overrides })).faults;
  }

  async run() {
    const number = ++this.number;
    const sides = this.second ? 2 : 1;
    this.states = Array.from({ length: sides }, () => "waiting");
    this.ends = [];
    this.hash.hidden = true;
    this.begun = performance.now();
    this.stopButton.disabled = false;
    this.onButton.disabled = true;
    this.say("running");
    const names = this.names || ["As written", this.overrides.join(" ").replace(/"/g, "")];
    this.shownNames = sides > 1 ? names : [""];
    if (sides === 1) { this.engine.tell({ do: "stop", side: 1 }); this.player.drop(1); }
    for (let side = 0; side < sides; side++) this.engine.tell({ do: "run", side, number, text: this.text, settings: side ? this.overrides : [] });
    this.own = `x=${await pack({ text: this.text, second: this.second, ...(this.lesson ? { show: this.lesson.name } : {}) })}`;
    if (number === this.number && this.notice.hidden) history.replaceState(null, "", `#${this.own}`);
  }

  // Makes the same run for twice as long, and shows it from its former end on.
  async runOn() {
    const [, number, unit] = /^([0-9.]+)\s*(\D+)$/.exec(this.length.value);
    this.former = this.player.duration;
    await this.set("duration", `${2 * Number(number)}${unit}`);
  }

  async stop() {
    this.former = null;
    this.number++;
    await this.engine.stop();
    this.player.films.forEach((film, side) => film?.state === "running" && this.player.end(side, "failed"));
    this.stopButton.disabled = true;
    this.say("stopped");
  }

  // News of the worker.
  heard(news) {
    if (news.ready) { this.version = news.version; return; }
    if (news.crashed) {
      this.number++;
      this.former = null;
      this.stopButton.disabled = true;
      this.engine.restart();
      this.say(`the run ended its worker: it needs more memory than this page may use, or crashed (${news.crashed.slice(0, 200)})`, true);
      return;
    }
    if (news.number !== this.number) return;
    const { side } = news;
    if (news.faults || news.failed) this.former = null;
    if (news.faults) { this.states[side] = "faulty"; this.showFaults(news.faults); this.stopButton.disabled = true; }
    else if (news.header) {
      this.showFaults([]);
      this.states[side] = "running";
      this.player.begin(side, news.header, this.shownNames[side]);
      if (side === 0) this.follow(news.experiment);
    } else if (news.chunk) {
      this.player.append(side, news.chunk, 0);
      this.firstPicture ??= performance.now();
    } else if (news.failed) { this.states[side] = "failed"; this.player.end(side, "failed"); this.say(news.failed, true); }
    else if (news.end) {
      this.states[side] = "done";
      this.ends[side] = news.end;
      this.seconds[side] = news.ms;
      this.player.end(side, "done");
      if (this.states.every((state) => state === "done")) this.done();
    }
  }

  done() {
    this.stopButton.disabled = true;
    const all = this.seconds.slice(0, this.states.length).reduce((sum, each) => sum + each, 0);
    const hops = this.ends.reduce((sum, end) => sum + (end.counts?.packet_hops || 0), 0);
    this.say(`${+(hops / 1e6).toPrecision(3)} million packet-hops in ${+(all / 1000).toPrecision(2)} s`);
    this.hash.hidden = false;
    const lines = this.ends.map((end, side) => {
      const sets = side ? this.overrides.map((each) => ` --set ${/^[\w.=-]+$/.test(each) ? each : `'${each}'`}`).join("") : "";
      return [made("div", { className: "sh-soft", textContent: this.shownNames[side] || "Hash of all tables" }),
        made("code", { className: "sh-code", textContent: end.tables }), made("code", { className: "sh-code", textContent: `./shallows run mine.toml${sets} --json` })];
    }).flat();
    this.hash.replaceChildren(...lines, made("div", { className: "sh-soft", textContent: `The command prints the same hash as tables_hash, if its sources are those of this page (${this.version?.slice(0, 12)}).` }));
    this.onButton.disabled = false;
    if (this.former) {
      this.player.seek(this.former);
      this.player.play();
    } else this.player.open();
    this.former = null;
  }

  // Sliders and the form follow the file.
  follow(experiment) {
    for (const slider of this.sliders) {
      const number = parseFloat(lookup(experiment, slider.path));
      const written = new RegExp(`^\\s*${slider.path.split(".").pop()}\\s*=\\s*"?([0-9.]+)${slider.unit}"?`, "m").exec(this.text);
      const value = written ? Number(written[1]) : number;
      if (!(value >= 0)) continue;
      if (document.activeElement !== slider.knob) slider.knob.value = placeOf(slider, value);
      slider.output.textContent = valueAt(slider, placeOf(slider, value));
      slider.knob.setAttribute("aria-valuetext", slider.output.textContent);
    }
    const control = Object.values(experiment.traffic)[0]?.transport?.cc?.kind;
    if (!this.choice) {
      this.choice = made("select", { className: "lab-input", onchange: () => this.set("transport.cc", this.choice.value) },
        ...this.controls.map((name) => made("option", { textContent: name, value: name })));
      this.length = made("input", { className: "lab-input", onchange: () => this.set("duration", this.length.value) });
      this.seed = made("input", { className: "lab-input", type: "number", min: 0, onchange: () => this.set("seed", Number(this.seed.value)) });
      this.form.append(...[["Congestion control", this.choice], ["Duration", this.length], ["Seed", this.seed]].map(([name, field]) => made("label", { className: "lab-field" }, name, field)));
    }
    this.choice.value = this.controls.includes(control) ? control : "";
    if (document.activeElement !== this.length) this.length.value = experiment.duration;
    if (document.activeElement !== this.seed) this.seed.value = experiment.seed;
  }

  // Faults in the editor at their lines, and below it as text; whether there are any.
  showFaults(faults) {
    this.faults.replaceChildren(...faults.slice(0, 20).map((fault) => made("div", { textContent: shown(fault).slice(0, 400) })));
    const lines = new Set(faults.map((fault) => Math.min(fault.path === "file" ? lineOf(this.text, fault.rule) : lineOf(this.text, fault.path), this.editor.state.doc.lines)));
    this.editorBox.querySelectorAll(".cm-line.sh-fault").forEach((line) => line.classList.remove("sh-fault"));
    const marks = [...lines].sort((a, b) => a - b).map((number) => CM.Decoration.line({ class: "sh-fault" }).range(this.editor.state.doc.line(number).from));
    const set = CM.EditorView.decorations.of(CM.Decoration.set(marks));
    this.marks ??= new CM.Compartment();
    this.editor.dispatch({ effects: this.marked ? this.marks.reconfigure(set) : CM.StateEffect.appendConfig.of(this.marks.of(set)) });
    this.marked = true;
    if (faults.length) this.say(`${faults.length} fault${faults.length > 1 ? "s" : ""}`, true);
    return faults.length > 0;
  }

  say(text, failed = false) {
    this.state.textContent = text;
    this.state.classList.toggle("sh-failed", failed);
  }

  cards() {
    if (this.gallery.childElementCount) return;
    const cards = made("div", { className: "sh-cards" }, ...this.entries.map((entry) => {
      const picture = made("div", { className: "sh-sketch" });
      picture.innerHTML = entry.picture; // our own file
      return made("article", { className: "sh-card" }, made("h2", { textContent: entry.title }), picture, made("p", { textContent: entry.about }),
        made("p", { className: "sh-soft", textContent: entry.watch || "" }), made("a", { href: `#show=${entry.name}`, textContent: "Run it" }));
    }));
    this.gallery.append(made("h1", { textContent: "Gallery" }), made("p", { textContent: "Experiments worth seeing, and what to drag. Each runs in this page." }), cards);
  }
}
