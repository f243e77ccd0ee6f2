// Elements without HTML: texts are always texts. The one exception is what the server has cleaned.

const SVG = "http://www.w3.org/2000/svg";
const SVG_TAGS = new Set(["svg", "g", "path", "line", "rect", "circle", "text", "title", "tspan", "marker", "defs", "polyline"]);
const policy = globalThis.trustedTypes?.createPolicy("cleaned", { createHTML: (text) => text });

/** Make an element: attributes (null and false are left out, on* become listeners), then children (texts or nodes). */
export function el(tag, attributes = {}, ...children) {
  const node = SVG_TAGS.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "selected" || name === "checked") node[name] = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  return fill(node, ...children);
}

/** Replace what is in a node by children; empty ones are left out. */
export function fill(node, ...children) {
  const kept = children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false && child !== "");
  node.replaceChildren(...kept.map((child) => (child instanceof Node ? child : String(child))));
  return node;
}

/** Show HTML that came cleaned from the server (answer_html), and nothing else. */
export function setCleaned(node, html) {
  node.innerHTML = policy ? policy.createHTML(html) : html;
  return node;
}

/** Say something to screen readers. */
export function announce(text) {
  document.getElementById("announce").textContent = text;
}

/** Return what does the work a moment after it was last called. */
export function debounced(work) {
  let timer = 0;
  return () => { clearTimeout(timer); timer = setTimeout(work, 200); };
}

/** Format a number of milliseconds: "12 ms", "1.4 s". */
export function duration(ms) {
  if (ms === null || ms === undefined) return "–";
  return ms < 1000 ? `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}
