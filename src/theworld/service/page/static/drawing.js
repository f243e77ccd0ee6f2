// Drawings as SVG: the graph of nodes with what ran lit up, and evidence paths.

import { duration, el, fill } from "./dom.js";

const WIDE = 140, HIGH = 58, BOX = 132, BOX_HIGH = 40;

/** Draw the graph of nodes; returns {svg, light(stages)}, which lights up what ran. */
export function nodeGraph(layout, t) {
  const x = (value) => value * WIDE + WIDE / 2, y = (value) => value * HIGH + HIGH / 2;
  const lines = layout.edges.map((edge) => {
    const line = el("path", { class: `edge${edge.conditional ? " conditional" : ""}`, d: way(edge.points.map(([a, b]) => [x(a), y(b)])) });
    return Object.assign(line, { edge });
  });
  const boxes = new Map(layout.nodes.map((node) => [node.name, box(node, x(node.x), y(node.y), t)]));
  const svg = el("svg", { class: "node-graph", viewBox: `0 0 ${layout.width * WIDE} ${layout.height * HIGH}`, role: "img", "aria-label": t("found.graph") },
    ...lines, ...boxes.values());
  const light = (stages) => {
    const ran = new Map(stages.map((stage) => [stage.stage, stage]));
    if (ran.size) ran.set("__start__", null);
    if (ran.has("finish_answer")) ran.set("__end__", null);
    for (const [name, group] of boxes) {
      group.classList.toggle("ran", ran.has(name));
      group.querySelector(".time").textContent = ran.get(name) ? duration(ran.get(name).elapsed_ms) : "";
    }
    for (const line of lines) line.classList.toggle("ran", ran.has(line.edge.source) && ran.has(line.edge.target) && follows(line.edge, stages));
    const named = stages.map((stage) => t(`found.node_${stage.stage}`)).join(", ");
    svg.setAttribute("aria-label", t("found.graph_text", { n: stages.length, all: layout.nodes.length - 2, stages: named }));
  };
  return { svg, light };
}

// A step was taken if nothing that ran lies between its ends: conditional steps pass over stages that did run.
function follows(edge, stages) {
  const order = stages.map((stage) => stage.stage);
  const from = order.indexOf(edge.source), to = edge.target === "__end__" ? order.length : order.indexOf(edge.target);
  const aside = (name) => name.startsWith("retrieve_");
  return order.slice(from + 1, to).every((name) => aside(name) && (aside(edge.target) || aside(edge.source)));
}

function box(node, x, y, t) {
  const small = node.name.startsWith("__");
  return el("g", { class: `node${small ? " terminal" : ""}`, transform: `translate(${x} ${y})` },
    el("rect", { x: -BOX / 2, y: -BOX_HIGH / 2, width: BOX, height: BOX_HIGH, rx: small ? BOX_HIGH / 2 : 7 }),
    el("text", { "text-anchor": "middle", y: small ? 5 : -2 }, t(`found.node_${node.name}`)),
    el("text", { class: "time", "text-anchor": "middle", y: 13 }));
}

function way(points) {
  const [[startX, startY], ...rest] = points;
  let drawn = `M${startX} ${startY}`, [lastX, lastY] = [startX, startY];
  for (const [x, y] of rest) {
    const middle = (lastY + y) / 2;
    drawn += ` C${lastX} ${middle} ${x} ${middle} ${x} ${y}`;
    [lastX, lastY] = [x, y];
  }
  return drawn;
}

/** Draw one evidence path: entities and notes in a row, relations on the arrows between them. */
export function pathDrawing(path) {
  const names = [path.steps[0]?.source, ...path.steps.map((step) => step.target)].filter(Boolean);
  const item = (name, place) => el("li", {},
    place ? el("span", { class: "relation" }, path.steps[place - 1].relation.replaceAll("_", " ")) : null,
    el("span", { class: "stop" }, name));
  return fill(el("ol", { class: "evidence-way" }), ...names.map(item));
}

const RINGS = [150, 290], WIDTH = 940, HEIGHT = 680, LETTERS = 26;

/** Draw an entity, a ring of notes that name it, and a ring of what these name besides, each near its notes. */
export function neighbourhoodDrawing(found, address, label) {
  const notes = found.notes.map((note, place) => ({ ...note, angle: (2 * Math.PI * place) / found.notes.length - Math.PI / 2 }));
  const naming = (key) => notes.filter((note) => note.entities.includes(key));
  const wanted = found.neighbours.filter((one) => naming(one.key).length).map((one) => {  // the mean direction of its notes
    const sum = naming(one.key).reduce(([x, y], note) => [x + Math.cos(note.angle), y + Math.sin(note.angle)], [0, 0]);
    return { ...one, angle: Math.atan2(sum[1], sum[0]) };
  }).sort((a, b) => a.angle - b.angle || a.key.localeCompare(b.key));
  const around = wanted.map((one, place) => ({ ...one, angle: (2 * Math.PI * place) / wanted.length - Math.PI }));
  const at = (angle, ring) => [WIDTH / 2 + Math.cos(angle) * RINGS[ring] * (ring ? 1.15 : 1), HEIGHT / 2 + Math.sin(angle) * RINGS[ring]];
  const line = ([x1, y1], [x2, y2]) => el("line", { x1, y1, x2, y2 });
  const middle = [WIDTH / 2, HEIGHT / 2];
  const lines = notes.flatMap((note) => [line(middle, at(note.angle, 0)),
    ...around.filter((one) => note.entities.includes(one.key)).map((one) => line(at(note.angle, 0), at(one.angle, 1)))]);
  const stop = (kind, [x, y], text, href, radius) => el("svg:a", { class: kind, href, "aria-label": text },
    el("circle", { cx: x, cy: y, r: radius }), el("text", { x, y: y - radius - 5, "text-anchor": "middle" }, shortened(text)));
  return el("svg", { class: "neighbourhood", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "group", "aria-label": label }, lines,
    notes.map((note) => stop("note", at(note.angle, 0), note.section.at(-1) || note.title || note.document_id, `#/documents/${encodeURIComponent(note.document_id)}`, 5)),
    around.map((one) => stop("near", at(one.angle, 1), one.label, address(one.key), 5 + Math.min(7, one.shared))),
    stop("middle", middle, found.entity.label, address(found.entity.key), 12));
}

function shortened(text) {
  const characters = Array.from(text);
  return characters.length > LETTERS ? `${characters.slice(0, LETTERS - 1).join("")}…` : text;
}
