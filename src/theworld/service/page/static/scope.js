// What is asked: all documents, chosen ones, or those whose metadata match.

import { ApiError } from "./api.js";
import { debounced, el, fill } from "./dom.js";

const SHOWN = 8;

/** What a question asks for: the filters of the API; where documents are chosen, neither database nor ontology may answer in their place. */
export function asked(scope) {
  const ids = (scope.documents ?? []).map((one) => one.id);
  return ids.length ? { filters: { ...scope.filters, document_id: ids }, enable_database: false, enable_ontology: false } : { filters: scope.filters };
}

/** Draw the scope of a thread; calls changed() after each change of it. */
export function drawScope(place, scope, t, changed, api) {
  scope.documents ??= [];
  if (place.scope !== scope) build(place, scope, t, changed, api);
  place.chips();
}

function build(place, scope, t, changed, api) {
  const chips = el("div", {}), picker = documentPicker(scope, t, changed, api), metadata = metadataForm(scope, t, changed);
  place.scope = scope;
  place.chips = () => {
    const key = JSON.stringify(scope);
    if (chips.dataset.drawn === key) return;
    chips.dataset.drawn = key;
    const remove = (work, focus) => () => { work(); changed(); focus.focus(); };
    const documents = scope.documents.map((one) => chip(one.title || one.id, remove(() => { scope.documents = scope.documents.filter((other) => other.id !== one.id); }, picker.search), t));
    const filters = Object.entries(scope.filters).map(([name, value]) => chip(`${name} = ${value}`, remove(() => { delete scope.filters[name]; }, metadata.name), t));
    fill(chips, documents.length + filters.length ? el("ul", { class: "chips" }, documents, filters) : el("p", { class: "muted small" }, t("ask.all_documents")));
    picker.draw();
  };
  fill(place, el("h2", {}, t("ask.scope")), chips, picker.node, metadata.node);
}

function chip(text, remove, t) {
  return el("li", { class: "chip" }, text, " ", el("button", { type: "button", class: "chip-remove", "aria-label": t("ask.remove", { what: text }), onclick: remove }, "×"));
}

/** A search over the documents, each found one a button that puts it in and takes it out again. */
function documentPicker(scope, t, changed, api) {
  const list = el("ul", { class: "picks" }), said = el("p", { class: "muted small", role: "status" });
  const node = el("details", { open: scope.documents.length > 0 }, el("summary", {}, t("ask.by_documents")));
  const toggle = (one) => {
    const chosen = scope.documents.some((other) => other.id === one.id);
    scope.documents = chosen ? scope.documents.filter((other) => other.id !== one.id) : [...scope.documents, { id: one.id, title: one.title }];
    changed();
  };
  let buttons = new Map();
  const draw = () => {
    for (const [id, button] of buttons) button.setAttribute("aria-pressed", String(scope.documents.some((one) => one.id === id)));
  };
  const find = async () => {
    const sought = search.value.trim();
    try {
      const page = await api.get("/api/v1/documents", { search: sought, limit: SHOWN });
      if (sought !== search.value.trim()) return;
      buttons = new Map(page.documents.map((one) => [one.id, el("button", { type: "button", class: "pick", title: one.id, onclick: () => toggle(one) }, one.title || one.id)]));
      fill(list, [...buttons.values()].map((button) => el("li", {}, button)));
      said.textContent = page.total > SHOWN ? t("ask.more_documents", { n: page.total - SHOWN }) : page.total ? "" : t("ask.no_document");
      draw();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      said.textContent = error.message;
    }
  };
  const search = el("input", { type: "search", id: "scope-documents", "aria-label": t("ask.find_documents"), placeholder: t("ask.find_documents"), maxlength: "500",
    onfocus: () => { if (!buttons.size) find(); }, oninput: debounced(find) });
  node.append(search, list, said);
  return { node, search, draw };
}

function metadataForm(scope, t, changed) {
  const name = el("input", { type: "text", id: "scope-name", "aria-label": t("ask.filter_name"), placeholder: t("ask.filter_name"), maxlength: "100" });
  const value = el("input", { type: "text", "aria-label": t("ask.filter_value"), placeholder: t("ask.filter_value"), maxlength: "200" });
  const add = (event) => {
    event.preventDefault();
    if (!name.value.trim() || !value.value.trim()) return;
    scope.filters[name.value.trim()] = value.value.trim();
    name.value = value.value = "";
    changed();
    name.focus();
  };
  const node = el("details", { open: Object.keys(scope.filters).length > 0 }, el("summary", {}, t("ask.by_metadata")),
    el("form", { class: "filter-form", onsubmit: add }, name, value, el("button", { type: "submit" }, t("ask.add"))));
  return { node, name };
}
