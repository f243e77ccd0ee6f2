// A drawing in columns: boxes that can be reached by keyboard and chosen, and lines between them.

import { el } from "../../dom.js";

const ROW = 44, HIGH = 34, MARGIN = 10, LETTER = 7.4;  // a Chinese character is nearly two letters wide
const NAMED_GAP = 170;  // between columns whose lines bear names

/** Draw nodes {id, kind, label, hint, column, row, choose} and lines {from, to, kind, label}; rows may be fractions. */
export function columnsDrawing({ nodes, lines, columns, rows, label }) {
  const narrow = matchMedia("(max-width: 700px)").matches, wide = narrow ? 126 : 196;
  const gap = lines.some((line) => line.label) ? NAMED_GAP : narrow ? 40 : 96;
  const width = columns * wide + (columns - 1) * gap + 2 * MARGIN, height = rows * ROW + 2 * MARGIN;
  const at = new Map(nodes.map((node) => [node.id, { x: MARGIN + node.column * (wide + gap), y: MARGIN + (node.row + 0.5) * ROW, wide }]));
  const drawn = lines.map((line) => Object.assign(way(line, at), { line }));
  const light = (id) => {
    for (const one of drawn) one.classList.toggle("lit", id !== null && (one.line.from === id || one.line.to === id));
  };
  const boxes = nodes.map((node) => box(node, at.get(node.id), light));
  return el("svg", { class: "columns", viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": label }, ...drawn, ...boxes);
}

function way({ from, to, kind, label }, at) {
  const start = at.get(from), end = at.get(to);
  const [x1, x2] = [start.x + start.wide, end.x], middle = (x1 + x2) / 2;
  const path = el("path", { d: `M${x1} ${start.y} C${middle} ${start.y} ${middle} ${end.y} ${x2} ${end.y}` });
  const words = label && el("text", { class: "relation-name", x: x2 - 8, y: end.y + 4, "text-anchor": "end" }, shortened(label, NAMED_GAP / LETTER - 1));
  return el("g", { class: `way way-${kind}`, "aria-hidden": "true" }, path, words);
}

function box(node, { x, y, wide }, light) {
  const press = (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    node.choose();
  };
  const chosen = node.choose ? { tabindex: "0", role: "button", onclick: node.choose, onkeydown: press } : { role: "img" };
  return el("g", { class: `box box-${node.kind}`, transform: `translate(${x} ${y})`, "aria-label": node.hint, "data-id": node.id,
    onpointerenter: () => light(node.id), onpointerleave: () => light(null), onfocus: () => light(node.id), onblur: () => light(null), ...chosen },
    el("title", {}, node.hint),
    el("rect", { y: -HIGH / 2, width: wide, height: HIGH, rx: node.kind === "note" ? 4 : HIGH / 2 }),
    el("text", { x: wide / 2, y: 5, "text-anchor": "middle", "aria-hidden": "true" }, shortened(node.label, wide / LETTER - 2)));
}

function shortened(text, room) {
  let used = 0, kept = "";
  for (const character of text) {
    used += character.codePointAt(0) > 0x2e7f ? 1.9 : 1;
    if (used > room) return `${kept.trimEnd()}…`;
    kept += character;
  }
  return kept;
}
