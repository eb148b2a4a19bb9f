// Completion in the editor of the live page, and the editor's name for readers by ear.

import * as CM from "nicegui-codemirror";
import { source } from "shallows-player/completion.js";

function editorOf(id) {
  try { return getElement(id)?.editor; } catch { return null; }
}

export default {
  template: "<span hidden></span>",
  props: { editor: Number, known: Object },
  async mounted() {
    for (let tries = 0; tries < 200; tries++) {
      // The elements of the page come one after the other; the editor may not be there yet.
      const view = editorOf(this.editor);
      if (view) {
        const complete = { autocomplete: source(this.known) };
        const named = CM.EditorView.contentAttributes.of({ "aria-label": "Experiment file", tabindex: "0" });
      view.dispatch({ effects: CM.StateEffect.appendConfig.of([CM.EditorState.languageData.of(() => [complete]), named]) });
        return;
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  },
};
