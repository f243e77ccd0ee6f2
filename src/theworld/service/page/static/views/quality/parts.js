// What the parts of Quality share: cards, tables, links to requests, times and shares in words.

import { ApiError } from "../../api.js";
import { el } from "../../dom.js";

export const card = (title, ...children) => el("section", { class: "card", "aria-label": title }, el("h2", {}, title), ...children);

/** A table that scrolls by itself: heads are [text, class], rows lists of cells (texts, nodes, or {number}). */
export function table(label, heads, rows) {
  const cell = (value, place) => {
    if (value !== null && typeof value === "object" && "number" in value) return el("td", { class: "number" }, value.number);
    return place === 0 ? el("th", { scope: "row" }, value) : el("td", {}, value);
  };
  return el("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": label }, el("table", {},
    el("thead", {}, el("tr", {}, heads.map(([text, kind]) => el("th", { scope: "col", class: kind ?? null }, text)))),
    el("tbody", {}, rows.map((cells) => el("tr", {}, cells.map(cell))))));
}

const written = (ms, t) => new Date(ms).toLocaleString(t.language, { dateStyle: "medium", timeStyle: "short" });
export const when = (ms, t) => el("time", { class: "when", datetime: new Date(ms).toISOString() }, written(ms, t));
export const share = (value) => (value === null || value === undefined ? "–" : `${(100 * value).toFixed(1)} %`);

/** Links to how a request was found and to running it again. */
export function requestLinks(id, t) {
  return el("span", { class: "links small" }, el("a", { href: `#/found/${encodeURIComponent(id)}` }, t("quality.found")), " · ",
    el("a", { href: `#/quality/replay/${encodeURIComponent(id)}` }, t("quality.again")));
}

/** A labelled field; its id is made from the label's place among all. */
let fields = 0;
export function field(label, input) {
  input.id = `field-${++fields}`;
  return el("div", { class: "field" }, el("label", { for: input.id }, label), input);
}

export const tick = (label, input) => el("label", { class: "tick" }, input, ` ${label}`);
export const numberField = (attributes = {}) => el("input", { type: "number", inputmode: "numeric", min: 1, ...attributes });
export const numberIn = (input) => (input.value.trim() ? Number(input.value) : null);

/** Run the work of a form once at a time; what goes wrong is told in `status`. */
export function submitting(status, work) {
  let busy = false;
  return async (event) => {
    event.preventDefault();
    if (busy) return;
    busy = true;
    showStatus(status, "");
    try {
      await work(event);
    } catch (error) {
      if (error.name !== "AbortError") showStatus(status, error.message, "problem");
    } finally {
      busy = false;
    }
  };
}

export const statusLine = () => el("p", { role: "status", hidden: true });
export function showStatus(status, text, kind = "notice") {
  status.className = kind;
  status.hidden = !text;
  status.textContent = text;
}

/** Await the work of one place; what goes wrong is told there, and leaves the others alone. */
export async function quietly(work, place) {
  try {
    await work;
  } catch (error) {
    if (error.name === "AbortError") return;
    if (!(error instanceof ApiError)) throw error;
    if (!error.needsKey) place.append(el("p", { class: "problem", role: "alert" }, error.message));
  }
}

/** A list that grows page by page: load(after) gives {items, nextAfter}, draw(items) its nodes. */
export async function growing(place, load, draw, label) {
  const items = [];
  const more = async (after) => {
    const page = await load(after);
    items.push(...page.items);
    place.replaceChildren(...[draw(items, page.total)].flat(), ...(page.nextAfter === null ? [] : [
      el("p", {}, el("button", { type: "button", onclick: () => quietly(more(page.nextAfter), place) }, label))]));
  };
  await more("");
}
