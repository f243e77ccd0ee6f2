// The evidence beside an answer: its citations, and a document opened at the passage.

import { ApiError } from "./api.js";
import { announce, el, fill } from "./dom.js";

/** Text in which the spans [start, end) stand in <mark>; spans may overlap. */
export function marked(text, spans, from = 0) {
  const cuts = [...new Set(spans.flat().concat([from, from + text.length]))]
    .filter((cut) => cut >= from && cut <= from + text.length).sort((a, b) => a - b);
  return cuts.slice(0, -1).map((cut, place) => {
    const piece = characters(text).slice(cut - from, cuts[place + 1] - from).join("");
    return spans.some(([start, end]) => start <= cut && cut < end) ? el("mark", {}, piece) : piece;
  });
}

// Offsets of the server count code points, not JavaScript's code units.
let lastText = null, lastCharacters = [];
function characters(text) {
  if (text !== lastText) [lastText, lastCharacters] = [text, Array.from(text)];
  return lastCharacters;
}

/** The cleaned HTML of a passage, without its place, with every occurrence of the words that its text marks in <mark>. */
function rendered(section, passage) {
  section.querySelector(".place").remove();
  const edge = (character) => (/\w/.test(character) ? "\\b" : "");
  const words = (passage.marks ?? []).map(([start, end]) => characters(passage.text).slice(start, end).join(""));
  const literal = (word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const pattern = words.sort((a, b) => b.length - a.length).map((word) => edge(word[0]) + literal(word) + edge(word.at(-1))).join("|");
  const texts = [], walker = document.createTreeWalker(section, NodeFilter.SHOW_TEXT);
  while (pattern && walker.nextNode()) texts.push(walker.currentNode);
  for (const text of texts) {
    const parts = text.data.split(new RegExp(`(${pattern})`, "u"));
    text.replaceWith(...parts.map((part, place) => (place % 2 ? el("mark", {}, part) : part)));
  }
  return section.childNodes;
}

/** Whether a citation can be opened: the rows of a database and the words of the conversation are no documents. */
export const isOfDocument = ({ document_id: id }) => id !== "conversation" && !id.startsWith("database:");

/** One citation as a card that opens its document; `section` is its passage in the answer's HTML, where it has one. */
export function citationCard(citation, passage, section, t, open) {
  const shown = passage && section ? rendered(section, passage) : [citation.quote];
  const told = [el("span", { class: "cite" }, citation.number), el("span", { class: "evidence-title" }, citation.title || citation.document_id),
    citation.section?.length ? el("span", { class: "evidence-path" }, citation.section.join(" › ")) : null];
  return el("li", { class: "evidence-card", id: `evidence-${citation.number}` },
    isOfDocument(citation)
      ? el("button", { type: "button", class: "evidence-open", "data-number": citation.number, onclick: () => open(citation) },
        ...told, el("span", { class: "unseen" }, t("ask.open_document")))
      : el("div", { class: "evidence-open", "data-number": citation.number, tabindex: "-1" }, ...told),
    el("div", { class: section ? "evidence-quote rendered" : "evidence-quote", tabindex: "0", role: "group", "aria-label": t("ask.quote", { n: citation.number }) }, ...shown));
}

/** Show the whole document with the cited passages marked, the first of them in sight. */
export async function openDocument(place, citation, citations, api, t, back) {
  const close = el("button", { type: "button", onclick: back }, t("ask.back_to_evidence"));
  const heading = el("h2", { tabindex: "-1" }, citation.title || citation.document_id);
  const body = el("div", { class: "document-text", tabindex: "0", role: "region", "aria-label": citation.title || citation.document_id }, t("ask.loading"));
  fill(place, el("p", { class: "row" }, close), heading,
    citation.section?.length ? el("p", { class: "evidence-path" }, citation.section.join(" › ")) : null,
    el("p", { class: "muted small" }, citation.document_id), body);
  heading.focus();
  try {
    const found = await api.get(`/api/v1/documents/${encodeURIComponent(citation.document_id)}`);
    const { text } = found;
    const spans = citations.filter((other) => other.document_id === citation.document_id).map((other) => [other.start, other.end]);
    fill(body, ...marked(text, spans));
    const own = Array.from(body.querySelectorAll("mark"));
    const first = own[spans.map(([start]) => start).sort((a, b) => a - b).indexOf(citation.start)] ?? own[0];
    if (first) body.scrollTop = first.offsetTop - body.offsetTop - 40;
    announce(t("ask.opened_at", { title: citation.title || citation.document_id }));
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    fill(body, el("p", { class: "problem", role: "alert" }, error.message), el("blockquote", {}, citation.quote));
  }
}
