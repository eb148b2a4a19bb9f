// The page's part of a laboratory: fetches films from the server as they grow, and hands them to a player.

import { echarts } from "nicegui-echart";
import { Player, readChunk } from "shallows-player";

export default {
  template: "<div></div>",
  props: { session: String },
  mounted() {
    const reduced = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.known = {};
    this.player = new Player(this.$el, {
      echarts, reduced, dark: document.body.classList.contains("body--dark"),
      onPace: (computing) => this.$emit("pace", computing),
      packets: (side, at) => this.packets(side, at),
    });
    window.shallows = { player: this.player };
    this.darkness = new MutationObserver(() =>
      this.player.theme(document.body.classList.contains("body--dark")));
    this.darkness.observe(document.body, { attributes: true, attributeFilter: ["class"] });
    this.textSize = new MutationObserver(() => this.player.resize());
    this.textSize.observe(document.documentElement, { attributes: true, attributeFilter: ["style"] });
    this.alive = true;
    this.pull();
  },
  unmounted() {
    this.alive = false;
    this.darkness.disconnect();
    this.textSize.disconnect();
    this.player.destroy();
  },
  methods: {
    async packets(side, at) {
      const answer = await fetch(`/live/${this.session}/${side}/packets?at_ps=${at}`).catch(() => null);
      return answer?.ok ? answer.json() : null;
    },
    name(side, text) { this.player.names[side] = text; this.player.forceFrame = true; },
    // Asks again and again for what is new; the server answers when there is something, or after a while.
    async pull() {
      let misses = 0;
      while (this.alive) {
        const have = Object.entries(this.known).map(([side, film]) =>
          `${side}.${film.number}.${film.chunks}.${film.over ? 1 : 0}`).join(",");
        try {
          const answer = await fetch(`/live/${this.session}/films?have=${have}`);
          if (!answer.ok) throw new Error(answer.statusText);
          this.take(await answer.arrayBuffer());
          misses = 0;
        } catch (error) {
          misses++;
          await new Promise((resolve) => setTimeout(resolve, Math.min(200 * misses, 5000)));
        }
      }
    },
    take(buffer) {
      let offset = 0;
      const { head, body } = readChunk(buffer, 0);
      offset = body;
      for (const side of Object.keys(this.known)) {
        if (!(side in head.sides)) {
          delete this.known[side];
          this.player.drop(Number(side));
        }
      }
      for (const [side, film] of Object.entries(head.sides)) {
        if (film.header) {
          this.player.begin(Number(side), film.header, film.name);
          this.known[side] = { number: film.number, chunks: 0 };
        }
        for (let i = 0; i < film.fresh; i++) offset = this.player.append(Number(side), buffer, offset);
        if (!this.known[side]) continue;
        this.known[side].chunks += film.fresh;
        this.known[side].over = film.state !== "running";
        if (this.player.films[side]?.state !== film.state) this.player.end(Number(side), film.state);
      }
      if (this.player.films.some((film) => film?.state === "done")) this.player.open();
    },
  },
};
