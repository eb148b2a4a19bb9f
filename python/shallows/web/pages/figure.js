// A figure of a run or a report: an image that becomes interactive where it carries its numbers.

import { echarts } from "nicegui-echart";
import { Figure, numbersOf } from "shallows-figures";

export default {
  template: '<div class="sh-picture"><img class="sh-figure" ref="image" :alt="alt" loading="lazy" @load="begin"></div>',
  props: { source: String, alt: String },
  mounted() {
    this.near = new IntersectionObserver(([entry]) => {
      if (!entry.isIntersecting) return;
      this.near.disconnect();
      this.$refs.image.src = this.source;
    }, { rootMargin: "500px" });
    this.near.observe(this.$el);
    this.darkness = new MutationObserver(() => this.figure?.draw());
    this.darkness.observe(document.body, { attributes: true, attributeFilter: ["class"] });
  },
  unmounted() {
    this.near.disconnect();
    this.darkness.disconnect();
    this.figure?.close();
  },
  methods: {
    async begin() {
      if (this.figure) return;
      const answer = await fetch(this.source).catch(() => null);
      const numbers = answer?.ok ? numbersOf(await answer.text()) : null;
      if (!numbers || !this.$refs.image) return;
      this.figure = new Figure(echarts, this.$refs.image, numbers, () => document.body.classList.contains("body--dark"));
    },
  },
};
