// Graph: what stands around a name, drawn from the store; the classes of the ontology, and what each element is tied to.
//
// #/graph/name/NAME shows a name, #/graph/element/KIND/KEY an element of the ontology, #/graph where to begin.

import { announce, el, fill } from "../dom.js";
import { citationCard, openDocument } from "../evidence.js";
import { columnsDrawing } from "./graph/columns.js";

export const stylesheet = ["views/ask.css", "views/graph.css"];  // the notes are shown as evidence is
let view = null;

export async function mount(element, api, t, [kind, ...rest]) {
  const body = el("div", { class: "graph-body" });
  view = { api, t, body };
  const name = kind === "name" ? rest[0] ?? "" : "";
  fill(element, el("h1", {}, t("graph.title")), lookUp(name), body);
  if (kind === "element") await drawElement(rest[0], rest[1]);
  else if (name) await drawName(name);
  else await drawStart();
}

export function unmount() {
  view = null;
}

const go = (...parts) => { location.hash = `#/${["graph", ...parts].map(encodeURIComponent).join("/")}`; };
const goToName = (name) => go("name", name);
const goToElement = (one) => go("element", one.kind, one.key);
const nameLink = (name) => el("a", { class: "chip", href: `#/graph/name/${encodeURIComponent(name)}` }, name);
const elementLink = (one) => el("a", { href: `#/graph/element/${one.kind}/${encodeURIComponent(one.key)}` }, one.label);

function lookUp(name) {
  const { t } = view;
  const input = el("input", { type: "search", id: "graph-name", maxlength: "500", value: name, autocomplete: "off" });
  const look = (event) => {
    event.preventDefault();
    if (input.value.trim()) goToName(input.value.trim());
  };
  return el("form", { class: "look-up", role: "search", onsubmit: look }, el("label", { for: "graph-name" }, t("graph.name")),
    el("div", { class: "row" }, input, el("button", { type: "submit", class: "primary" }, t("graph.explore"))));
}

async function drawStart() {
  const { api, t, body } = view;
  const mine = view;
  const [found, ontology] = await Promise.all([api.get("/api/v1/graph"), api.get("/api/v1/ontology", { language: api.language })]);
  if (view !== mine) return;
  fill(body, el("p", { class: "muted" }, t("graph.start")),
    found.near.length ? el("section", { "aria-label": t("graph.common") }, el("h2", {}, t("graph.common")), names(found.near)) : el("p", { class: "notice" }, t("graph.empty")),
    ontology.id !== null && classes(ontology));
}

const names = (some) => el("ul", { class: "names" }, some.map((name) => el("li", {}, nameLink(name))));

function classes(ontology) {
  const { t } = view;
  const heads = ["class", "about", "inherits"].map((key) => el("th", { scope: "col" }, t(`graph.${key}`)));
  const numbers = ["attributes", "relations", "samples"].map((key) => el("th", { scope: "col", class: "number" }, t(`graph.${key}`)));
  const row = (one) => el("tr", {}, el("th", { scope: "row" }, elementLink(one)), el("td", {}, one.description),
    el("td", {}, one.inherits.map((parent, place) => [place ? ", " : "", elementLink(parent)])),
    [one.attributes, one.relations, one.samples].map((number) => el("td", { class: "number" }, number)));
  const title = t("graph.ontology", { id: ontology.id, version: ontology.version });
  return el("section", { class: "card ontology", "aria-label": title }, el("h2", {}, title), ontology.description && el("p", {}, ontology.description),
    el("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": title }, el("table", {}, el("thead", {}, el("tr", {}, heads, numbers)), el("tbody", {}, ontology.classes.map(row)))),
    ontology.total > ontology.classes.length && el("p", { class: "muted" }, t("graph.classes_more", { n: ontology.classes.length, all: ontology.total })));
}

async function drawName(name) {
  const { api, t, body } = view;
  const mine = view, found = await api.get("/api/v1/graph", { name, language: api.language });
  if (view !== mine) return;
  const { entity } = found;
  const elements = found.elements.length > 0 && el("p", {}, `${t("graph.elements")} `, found.elements.map((one) => [elementLink(one), ` (${t(`graph.kind_${one.kind}`)}) `]));
  if (!entity) {
    const near = found.near.length ? [el("p", {}, t("graph.near")), names(found.near)] : el("p", {}, t("graph.nothing_near"));
    fill(body, el("p", { class: "notice", role: "status" }, t("graph.unknown", { name })), near, elements);
    return;
  }
  const heading = el("h2", { tabindex: "-1" }, entity.label);
  const side = el("section", { class: "evidence", "aria-label": t("graph.notes") });
  const notes = found.notes.map((one, place) => asCitation(one.note, place));
  const open = opener(side, notes);
  const label = t("graph.drawing", { name: entity.label, notes: found.notes.length, n: found.entities.length });
  fill(body, heading, el("p", { class: "muted" }, t("graph.named_by", { type: typeName(entity.type), n: entity.notes })), elements,
    el("div", { class: "graph-columns" }, drawingCard(surroundings(found, notes, open, label), label, legend()), side));
  drawNotes(side, notes, open);
  arrived(heading, label);
}

function surroundings(found, notes, open, label) {
  const { t } = view, { entity } = found;
  const middle = found.height / 2 - 0.5, centre = `e:${entity.key}`;
  const nodes = [
    { id: centre, kind: "centre", label: entity.label, hint: entity.label, column: 0, row: middle },
    ...found.notes.map((one, place) => ({ id: `n:${one.note.id}`, kind: "note", label: shortPlace(one.note), column: 1, row: one.y,
      hint: t("graph.note_node", { title: one.note.title || one.note.document_id }), choose: () => open(notes[place]) })),
    ...found.entities.map((one) => ({ id: `e:${one.key}`, kind: "entity", label: one.label, column: 2, row: one.y,
      hint: t("graph.entity_node", { name: one.label, type: typeName(one.type), n: one.notes }), choose: () => goToName(one.label) })),
  ];
  const named = new Set(found.notes.flatMap((one) => one.names));
  const lines = [
    ...found.entities.filter((one) => !named.has(one.key)).map((one) => ({ from: centre, to: `e:${one.key}`, kind: "shared" })),
    ...found.notes.map((one) => ({ from: centre, to: `n:${one.note.id}`, kind: one.titled ? "titled" : "names" })),
    ...found.notes.flatMap((one) => one.names.map((key) => ({ from: `n:${one.note.id}`, to: `e:${key}`, kind: "names" }))),
  ];
  return columnsDrawing({ nodes, lines, columns: 3, rows: found.height, label });
}

async function drawElement(kind, key) {
  const { api, t, body } = view;
  const mine = view, path = `/api/v1/ontology/${encodeURIComponent(kind)}/${encodeURIComponent(key ?? "")}`;
  const found = await api.get(path, { language: api.language });
  if (view !== mine) return;
  const rows = Math.max(found.ties.length, 1);
  const nodes = [
    { id: "centre", kind: "centre", label: found.label, hint: found.label, column: 0, row: rows / 2 - 0.5 },
    ...found.ties.map((tie, row) => ({ id: `t:${row}`, kind: tie.other.kind === "EntitySample" ? "entity" : "element", label: tie.other.label, column: 1, row,
      hint: t("graph.element_node", { relation: tie.relation, name: tie.other.label }), choose: () => goToElement(tie.other) })),
  ];
  const lines = found.ties.map((tie, row) => ({ from: "centre", to: `t:${row}`, kind: "names", label: tie.relation }));
  const label = t("graph.drawing_ties", { name: found.label, n: found.ties.length });
  const heading = el("h2", { tabindex: "-1" }, found.label), side = el("section", { class: "evidence", "aria-label": t("graph.notes") });
  const notes = found.notes.map(asCitation);
  fill(body, el("p", {}, el("a", { href: "#/graph" }, t("graph.back"))), heading,
    el("p", { class: "muted" }, [t(`graph.kind_${found.kind}`), found.names.join(" · "), found.description].filter(Boolean).join(" — ")),
    el("p", {}, el("a", { href: `#/graph/name/${encodeURIComponent(found.label)}` }, t("graph.find_notes", { name: found.label }))),
    el("div", { class: "graph-columns" },
      drawingCard(columnsDrawing({ nodes, lines, columns: 2, rows, label }), label,
        found.tied > found.ties.length && el("p", { class: "muted small" }, t("graph.more_ties", { n: found.ties.length, all: found.tied }))), side));
  drawNotes(side, notes, opener(side, notes));
  arrived(heading, label);
}

function arrived(heading, label) {
  heading.focus({ preventScroll: true });
  announce(label);
}

const drawingCard = (drawing, label, below) =>
  el("section", { class: "card" }, el("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": label }, drawing), below);

function legend() {
  const { t } = view;
  const sample = (kind) => el("li", {}, el("svg", { width: 34, height: 10, "aria-hidden": "true" }, el("g", { class: `way way-${kind}` }, el("path", { d: "M1 5 H33" }))), ` ${t(`graph.legend_${kind}`)}`);
  return el("ul", { class: "names small muted", "aria-label": t("graph.legend") }, ["titled", "names", "shared"].map(sample));
}

function opener(side, notes) {
  const { api, t } = view;
  const open = (citation) => openDocument(side, citation, notes, api, t, () => {
    drawNotes(side, notes, open);
    side.querySelector(`[data-number="${citation.number}"]`)?.focus();
  });
  return (citation) => {
    open(citation);
    if (matchMedia("(max-width: 1020px)").matches) side.scrollIntoView({ block: "start" });
  };
}

function drawNotes(side, notes, open) {
  const { t } = view;
  const cards = notes.map((citation) => citationCard(citation, null, null, t, open));
  fill(side, el("h3", {}, t("graph.notes")), notes.length ? el("ol", { class: "evidence-list" }, cards) : el("p", { class: "muted" }, t("graph.no_notes")));
}

const asCitation = (note, place) => ({ number: place + 1, document_id: note.document_id, title: note.title, section: note.section, start: note.start, end: note.end, quote: note.text });
const shortPlace = (note) => note.section.at(-1) ?? (note.title || note.document_id);
const typeName = (type) => (view.t.has(`graph.type_${type}`) ? view.t(`graph.type_${type}`) : type);
