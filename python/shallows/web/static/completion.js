// Completion in the editor: the keys of the table in which one writes, and the words that a key takes. `known` is that of
// shallows/web/editor/completion.py.

const bare = (path) => path.replace(/"([^"]*)"/g, (_, name) => name.replace(/\./g, "\u0000"));

// A dotted path without the names of loads, ports and switches.
function plain(known, path) {
  const parts = bare(path).split(".").map((part) => part.trim()).filter(Boolean);
  if (known.named.includes(parts[0])) parts.splice(1, 1);
  return parts.join(".");
}

// The table that holds a line: its header above, and the kind that a line of it names.
function tableAt(known, doc, number) {
  let path = "", from = 1;
  for (let line = number - 1; line >= 1; line--) {
    const found = doc.line(line).text.match(/^\s*\[([^\[\]]+)\]/);
    if (found) { [path, from] = [plain(known, found[1]), line + 1]; break; }
  }
  let kind = "";
  for (let line = from; line <= doc.lines; line++) {
    const { text } = doc.line(line);
    if (/^\s*\[/.test(text)) break;
    kind = text.match(/^\s*kind\s*=\s*"([\w.+-]+)"/)?.[1] ?? kind;
  }
  return { path, kind };
}

// The same within braces: cc = {kind = "dctcp", g = ...}
function withinBraces(table, before, after) {
  const open = before.match(/^\s*([\w.-]+)\s*=\s*\{([^{}]*)$/);
  if (!open) return { table, text: before };
  const kind = (open[2] + after).match(/\bkind\s*=\s*"([\w.+-]+)"/)?.[1] ?? "";
  return { table: { path: [table.path, open[1]].filter(Boolean).join("."), kind }, text: open[2].replace(/^.*,/, "") };
}

// The path under which the keys of a table stand: those of a load's transport are those of all.
function first(known, path) {
  const parts = path.split(".");
  for (let count = parts.length; count > 0; count--) {
    const same = known.same[parts.slice(0, count).join(".")];
    if (same) return first(known, [same, ...parts.slice(count)].join("."));
  }
  return path;
}

function keysOf(known, { path, kind }) {
  const kinds = known.keys[first(known, path)];
  if (!kinds) return [];
  if (kinds[kind]) return kinds[kind];
  const all = new Map(Object.values(kinds).flat().map((key) => [key.label, key]));
  return [...all.values()];
}

// The key of a dotted path, as one may write it at the top of a file or of a table: queue.kind.
function keyAt(known, table, name) {
  const parts = name.split("."), last = parts.pop();
  const path = parts.length ? plain(known, [table.path, ...parts].filter(Boolean).join(".")) : table.path;
  const keys = keysOf(known, { path, kind: parts.length ? "" : table.kind });
  if (last !== "kind") return keys.find((key) => key.label === last);
  const inner = path.split("."), own = inner.pop();
  const short = keysOf(known, { path: inner.join("."), kind: "" }).find((key) => key.label === own);
  if (short?.words.length) return short;
  return { words: Object.keys(known.keys[first(known, path)] ?? {}).filter(Boolean).map((kind) => [JSON.stringify(kind), ""]) };
}

export function source(known) {
  return (context) => {
    const line = context.state.doc.lineAt(context.pos);
    const column = context.pos - line.from;
    const header = line.text.slice(0, column).match(/^\s*\[([\w.-]*)$/);
    if (header) {
      const options = Object.entries(known.tables).map(([path, info]) => ({ label: path, info, type: "namespace",
        apply: known.named.includes(path) ? `${path}.` : path }));
      return { from: context.pos - header[1].length, options, validFor: /^[\w.-]*$/ };
    }
    const { table, text } = withinBraces(tableAt(known, context.state.doc, line.number), line.text.slice(0, column), line.text.slice(column));
    const value = text.match(/^\s*([\w.-]+)\s*=\s*("?)([\w.+-]*)$/);
    if (value) {
      const words = keyAt(known, table, value[1])?.words ?? [];
      const quoted = value[2] === '"';
      const closed = line.text.slice(column).startsWith('"');
      const options = words.filter(([word]) => !quoted || word.startsWith('"')).map(([word, info]) => ({
        label: word.replace(/^"|"$/g, ""), info: info || undefined, type: "enum",
        apply: quoted ? word.slice(1, closed ? -1 : undefined) : word }));
      return options.length ? { from: context.pos - value[3].length, options, validFor: /^[\w.+-]*$/ } : null;
    }
    const begun = text.match(/^\s*([\w.-]*)$/);
    if (!begun || (!begun[1] && !context.explicit)) return null;
    const options = keysOf(known, table).map(({ label, detail, info }) => ({ label, detail, info, apply: `${label} = `, type: "property" }));
    return options.length ? { from: context.pos - begun[1].length, options, validFor: /^[\w.-]*$/ } : null;
  };
}
