// What is asked: all documents, chosen ones, or those whose metadata match.

import { el, fill } from "./dom.js";

const SHOWN = 8;

/** Draw the scope of a thread; calls changed() after each change of it. */
export function drawScope(place, scope, api, t, changed) {
  const key = JSON.stringify(scope) + t.language;
  if (place.dataset.drawn === key) return;
  place.dataset.drawn = key;
  const apply = (focus) => {
    changed();
    place.querySelector(focus)?.focus();
  };
  const chosen = scope.documents.map((item) => chip(item.title || item.id, () => {
    scope.documents = scope.documents.filter((other) => other.id !== item.id);
    apply("#scope-search");
  }, t));
  const filters = Object.entries(scope.filters).map(([name, value]) => chip(`${name} = ${value}`, () => {
    delete scope.filters[name];
    apply("#scope-search");
  }, t));
  const everything = !chosen.length && !filters.length;
  fill(place, el("h2", {}, t("ask.scope")), everything ? el("p", { class: "muted small" }, t("ask.all_documents")) : el("ul", { class: "chips" }, ...chosen, ...filters),
    search(scope, api, t, apply), filterForm(scope, t, apply));
}

function chip(text, remove, t) {
  return el("li", { class: "chip" }, text, " ", el("button", { type: "button", class: "chip-remove", "aria-label": t("ask.remove", { what: text }), onclick: remove }, "×"));
}

function search(scope, api, t, apply) {
  const found = el("ul", { class: "scope-found", "aria-live": "polite" });
  let asked = 0;
  const look = async (event) => {
    const text = event.target.value.trim(), mine = ++asked;
    if (!text) return fill(found);
    await new Promise((wait) => setTimeout(wait, 200));
    if (mine !== asked) return undefined;
    try {
      const page = await api.get("/api/v1/documents", { search: text, limit: SHOWN });
      if (mine === asked) fill(found, ...page.documents.map(choice), page.documents.length ? null : el("li", { class: "muted small" }, t("ask.no_such_document")));
    } catch (error) {
      fill(found, el("li", { class: "problem small" }, error.message));
    }
    return undefined;
  };
  const choice = (item) => el("li", {}, el("button", {
    type: "button", class: "quiet wide", onclick: () => {
      if (!scope.documents.some((other) => other.id === item.id)) scope.documents.push({ id: item.id, title: item.title });
      apply("#scope-search");
    },
  }, item.title || item.id));
  return [el("label", { for: "scope-search" }, t("ask.choose_documents")),
    el("input", { type: "search", id: "scope-search", autocomplete: "off", placeholder: t("ask.title_or_file"), oninput: look }), found];
}

function filterForm(scope, t, apply) {
  const name = el("input", { type: "text", "aria-label": t("ask.filter_name"), placeholder: t("ask.filter_name"), maxlength: "100" });
  const value = el("input", { type: "text", "aria-label": t("ask.filter_value"), placeholder: t("ask.filter_value"), maxlength: "200" });
  const add = (event) => {
    event.preventDefault();
    if (!name.value.trim() || !value.value.trim()) return;
    scope.filters[name.value.trim()] = value.value.trim();
    apply("#scope-search");
  };
  return el("details", {}, el("summary", {}, t("ask.by_metadata")),
    el("form", { class: "filter-form", onsubmit: add }, name, value, el("button", { type: "submit" }, t("ask.add"))));
}
