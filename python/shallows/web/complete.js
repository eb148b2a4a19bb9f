// Completion in the editor: the keys of the table in which one writes, and the words that a key takes.

import * as CM from "nicegui-codemirror";

// The dotted path of the table that holds the cursor, by the last header above it.
function tableAt(doc, number) {
  for (let line = number; line >= 1; line--) {
    const found = doc.line(line).text.match(/^\s*\[([^\[\]]+)\]/);
    if (found && line < number) return found[1].trim();
  }
  return "";
}

const normal = (path) => path.replace(/^(traffic|port|switch)\.("[^"]*"|[^.]+)/, "$1").replace(/^traffic\.transport/, "transport");

function source(known) {
  return (context) => {
    const line = context.state.doc.lineAt(context.pos);
    const before = line.text.slice(0, context.pos - line.from);
    const word = context.matchBefore(/[\w.-]*/);
    const path = normal(tableAt(context.state.doc, line.number));
    const header = before.match(/^\s*\[([\w.-]*)$/);
    if (header) return { from: context.pos - header[1].length, options: known.tables.map((label) => ({ label, type: "namespace" })) };
    const value = before.match(/(?:^|[\s{,])([\w.-]+)\s*=\s*"?([\w.-]*)$/);
    if (value) {
      const key = value[1] === "kind" && /cc\s*=\s*\{/.test(before) ? "cc" : value[1];
      const words = known.words[`${path}.${key}`] || known.words[key === "kind" ? path : `transport.${key}`] || [];
      if (!words.length) return null;
      const quoted = /"[\w.-]*$/.test(before);
      return { from: context.pos - value[2].length, validFor: /^[\w.-]*$/,
        options: words.map(([label, info]) => ({ label, info, apply: quoted ? label : `"${label}"`, type: "enum" })) };
    }
    if (!/^\s*[\w.-]*$/.test(before) || (word.from === word.to && !context.explicit)) return null;
    const keys = known.keys[path] || known.keys[path.split(".").slice(0, 2).join(".")] || [];
    return { from: word.from, validFor: /^[\w.-]*$/,
      options: keys.map(([label, detail, info]) => ({ label, detail, info, apply: `${label} = `, type: "property" })) };
  };
}

export default {
  template: "<span hidden></span>",
  props: { editor: Number, known: Object },
  async mounted() {
    for (let tries = 0; tries < 200; tries++) {
      // The elements of the page come one after the other; the editor may not be there yet.
      const view = window.mounted_app ? getElement(this.editor)?.editor : null;
      if (view) {
        const complete = { autocomplete: source(this.known) };
        view.dispatch({ effects: CM.StateEffect.appendConfig.of(CM.EditorState.languageData.of(() => [complete])) });
        return;
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  },
};
