// Graph: an entity, the notes that name it, and what these name besides; and the classes of the ontology.

import { announce, el, fill } from "../dom.js";
import { neighbourhoodDrawing } from "../drawing.js";

export const stylesheet = "views/graph.css";
let view = null;

export async function mount(element, api, t, [kind, id]) {
  const found = el("ul", { class: "found-entities" }), shown = el("div", { "aria-live": "polite" }), classes = el("section", { "aria-label": t("graph.classes") });
  const mine = { api, t, found, shown, classes, asked: 0 };
  view = mine;
  const name = el("input", { type: "search", id: "entity-name", maxlength: "200", placeholder: t("graph.placeholder"), oninput: () => suggest(name.value.trim()) });
  const form = el("form", { class: "watch", onsubmit: (event) => { event.preventDefault(); suggest(name.value.trim(), true); } },
    el("label", { for: "entity-name" }, t("graph.name")), el("div", { class: "row" }, name, el("button", { type: "submit", class: "primary" }, t("graph.show"))));
  fill(element, el("h1", {}, t("graph.title")), form, found, shown, classes);
  if (kind === "entity") await showEntity(id);
  await showClasses(kind === "class" ? id : "");
  if (view === mine && !kind) name.focus();
}

export function unmount() {
  view = null;
}

async function suggest(name, go = false) {
  const mine = view, asked = ++mine.asked;
  if (!name) return void fill(mine.found);
  const { entities } = await mine.api.get("/api/v1/graph/entities", { name, limit: 8 });
  if (view !== mine || mine.asked !== asked) return;
  if (go && entities.length) location.hash = address(entities[0].key);
  else fill(mine.found, entities.length ? entities.map((one) => el("li", {}, el("a", { class: "chip", href: address(one.key) }, `${one.label} · ${one.notes}`)))
    : el("li", { class: "muted" }, mine.t("graph.unknown")));
}

const address = (key) => `#/graph/entity/${encodeURIComponent(key)}`;

async function showEntity(key) {
  const mine = view, { api, t, shown } = mine;
  const found = await api.get("/api/v1/graph/around", { key });
  if (view !== mine) return;
  const note = (one) => el("li", {}, el("a", { href: `#/documents/${encodeURIComponent(one.document_id)}` }, one.title || one.document_id),
    one.section.length > 0 && el("span", { class: "muted small" }, ` › ${one.section.join(" › ")}`), one.titled && el("span", { class: "chip" }, t("graph.about")));
  fill(shown, el("section", { class: "card" }, el("h2", {}, found.entity.label, " ", el("span", { class: "chip" }, t.has(`graph.type_${found.entity.type}`) ? t(`graph.type_${found.entity.type}`) : found.entity.type)),
    el("p", { class: "muted" }, t("graph.summary", { notes: found.entity.notes, shown: found.notes.length })),
    el("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": t("graph.drawing", { name: found.entity.label }) },
      neighbourhoodDrawing(found, address, t("graph.drawing", { name: found.entity.label })))),
  el("div", { class: "graph-columns" },
    el("section", { class: "card" }, el("h2", {}, t("graph.neighbours")), el("ul", { class: "plain" }, found.neighbours.map((one) =>
      el("li", {}, el("a", { href: address(one.key) }, one.label), el("span", { class: "muted small" }, ` ${t("graph.shared", { n: one.shared, notes: one.notes })}`))))),
    el("section", { class: "card" }, el("h2", {}, t("graph.notes")), el("ul", { class: "plain" }, found.notes.map(note)))));
  announce(t("graph.summary", { notes: found.entity.notes, shown: found.notes.length }));
}

async function showClasses(around) {
  const mine = view, { api, t, classes } = mine;
  const found = await api.get("/api/v1/graph/classes", { around, language: api.language });
  if (view !== mine) return;
  if (!found.classes.length) return void fill(classes, el("p", { class: "muted" }, t("graph.no_ontology")));
  const one = found.classes.find((item) => item.id === around);
  fill(classes, el("h2", {}, t("graph.ontology", { id: found.id, version: found.version })),
    el("ul", { class: "found-entities" }, found.classes.map((item) =>
      el("li", {}, el("a", { class: "chip", href: `#/graph/class/${encodeURIComponent(item.id)}`, "aria-current": item.id === around ? "true" : null }, item.label)))),
    one && el("section", { class: "card" }, el("h2", {}, one.label), el("p", {}, one.description),
      one.attributes.length > 0 && el("p", { class: "muted" }, t("graph.attributes", { names: one.attributes.join(", ") })),
      el("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": one.label },
        el("img", { alt: t("graph.drawing", { name: one.label }), src: `data:image/svg+xml;charset=utf-8,${encodeURIComponent(found.drawing)}` }))));
}
