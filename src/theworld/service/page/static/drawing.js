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
export function pathDrawing(path, t) {
  const names = [path.steps[0]?.source, ...path.steps.map((step) => step.target)].filter(Boolean);
  const item = (name, place) => el("li", {},
    place ? el("span", { class: "relation" }, t.reason(path.steps[place - 1].relation.replaceAll("_", " "))) : null,
    el("span", { class: "stop" }, name));
  return fill(el("ol", { class: "evidence-way" }), ...names.map(item));
}
