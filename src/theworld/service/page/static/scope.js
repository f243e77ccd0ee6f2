// What is asked: all documents, or those whose metadata match.

import { el, fill } from "./dom.js";

/** Draw the scope of a thread; calls changed() after each change of it. */
export function drawScope(place, scope, t, changed) {
  const key = JSON.stringify(scope) + t.language;
  if (place.dataset.drawn === key) return;
  place.dataset.drawn = key;
  const apply = (focus) => {
    changed();
    place.querySelector(focus)?.focus();
  };
  const filters = Object.entries(scope.filters).map(([name, value]) => chip(`${name} = ${value}`, () => {
    delete scope.filters[name];
    apply("#scope-name");
  }, t));
  fill(place, el("h2", {}, t("ask.scope")), filters.length ? el("ul", { class: "chips" }, ...filters) : el("p", { class: "muted small" }, t("ask.all_documents")),
    filterForm(scope, t, apply));
}

function chip(text, remove, t) {
  return el("li", { class: "chip" }, text, " ", el("button", { type: "button", class: "chip-remove", "aria-label": t("ask.remove", { what: text }), onclick: remove }, "×"));
}

function filterForm(scope, t, apply) {
  const name = el("input", { type: "text", id: "scope-name", "aria-label": t("ask.filter_name"), placeholder: t("ask.filter_name"), maxlength: "100" });
  const value = el("input", { type: "text", "aria-label": t("ask.filter_value"), placeholder: t("ask.filter_value"), maxlength: "200" });
  const add = (event) => {
    event.preventDefault();
    if (!name.value.trim() || !value.value.trim()) return;
    scope.filters[name.value.trim()] = value.value.trim();
    apply("#scope-name");
  };
  return el("details", { open: Object.keys(scope.filters).length > 0 }, el("summary", {}, t("ask.by_metadata")),
    el("form", { class: "filter-form", onsubmit: add }, name, value, el("button", { type: "submit" }, t("ask.add"))));
}
