// One request of the record again: as it was asked, or with another strategy beside it.

import { announce, duration, el, fill } from "../../dom.js";
import { card, field, statusLine, submitting, table, showStatus } from "./parts.js";
import { strategyFields } from "./strategy.js";

/** Draw the form that asks which request. */
export function chooseRequest({ t }, place) {
  const id = el("input", { type: "text", maxlength: 64, required: true, spellcheck: "false" });
  const open = (event) => {
    event.preventDefault();
    location.hash = `#/quality/replay/${encodeURIComponent(id.value.trim())}`;
  };
  fill(place, card(t("quality.replay"), el("p", { class: "muted small" }, t("quality.request_open")),
    el("form", { class: "fields", onsubmit: open }, field(t("quality.request_id"), id), el("button", { type: "submit" }, t("quality.open")))));
}

/** Draw the form for a request, and what running it again shows. */
export async function showReplay(page, place, id) {
  const { t } = page;
  const status = statusLine(), outcome = el("div", { "aria-live": "polite" });
  const way = (value, checked) => el("input", { type: "radio", name: "way", value, checked, onchange: () => { strategy.node.hidden = value === "same"; } });
  const [same, other] = [way("same", true), way("other", false)];
  const strategy = strategyFields(t, "B");
  strategy.node.hidden = true;
  const run = submitting(status, async () => {
    showStatus(status, t("quality.running"));
    const body = other.checked ? { strategy: strategy.read() } : {};
    const found = await page.api.post(`/api/v1/retrieval/replay/${encodeURIComponent(id)}?language=${t.language}`, body, { signal: page.signal });
    showStatus(status, "");
    draw(found, outcome, t);
  });
  const choices = el("div", { class: "row", role: "radiogroup", "aria-label": t("quality.strategy") },
    el("label", { class: "tick" }, same, ` ${t("quality.as_it_was")}`), el("label", { class: "tick" }, other, ` ${t("quality.differently")}`));
  const heading = el("h2", { tabindex: "-1" }, t("quality.replay"));
  fill(place, el("section", { class: "card", "aria-label": t("quality.replay") }, heading, el("p", { class: "muted" }, t("quality.replay_more")), el("p", {}, `${t("quality.request_id")}: `, el("code", {}, id), " · ",
    el("a", { href: `#/found/${encodeURIComponent(id)}` }, t("quality.found"))),
    el("form", { onsubmit: run }, choices, strategy.node, el("p", { class: "actions" }, el("button", { type: "submit", class: "primary" }, t("quality.run"))), status)), outcome);
  heading.focus({ preventScroll: true });
}

function draw(found, outcome, t) {
  const verdict = t(found.exact ? "quality.exact" : "quality.not_exact");
  fill(outcome, card(found.question, el("p", { class: found.exact ? "same" : "notice" }, verdict),
    found.causes.length > 0 && [el("h3", {}, t("quality.causes")), el("ul", {}, found.causes.map((cause) => el("li", {}, cause)))],
    el("div", { class: "sides" }, side(t("quality.before"), found.before, t), side(found.strategy ? `${t("quality.now")}: ${found.strategy.name}` : t("quality.now"), found.now, t))),
    found.passages.length > 0 && card(t("quality.passages"), passages(found, t)),
    card(t("quality.differences"), stages(found, t)));
  announce(verdict);
}

function side(title, end, t) {
  const kind = end.kind && t.has(`found.kind_${end.kind}`) ? t(`found.kind_${end.kind}`) : t("quality.no_answer");
  return el("section", { class: "side-of", "aria-label": title }, el("h3", {}, title), el("p", { class: "muted small" }, [kind, end.confidence === null ? "" : end.confidence.toFixed(2), duration(end.elapsed_ms)].filter(Boolean).join(" · ")),
    end.text && el("div", { class: "answer-text" }, end.text));
}

function passages(found, t) {
  const place = (value) => ({ number: value ?? [el("span", { "aria-hidden": "true" }, "–"), el("span", { class: "unseen" }, t("quality.not_there"))] });
  const heads = [[t("quality.passage")], [t("quality.before"), "number"], [t("quality.now"), "number"]];
  const drawn = table(t("quality.passages"), heads, found.passages.map((one) => [one.note_id, place(one.before), place(one.now)]));
  drawn.querySelectorAll("tbody tr").forEach((row, at) => row.classList.toggle("moved", found.passages[at].before !== found.passages[at].now));
  return drawn;
}

const told = (lines, t) => el("details", {}, el("summary", {}, t("quality.how_many", { n: lines.length })), el("ul", { class: "lines" }, lines.map((line) => el("li", {}, line))));

function stages(found, t) {
  const rows = Object.entries(found.stages).map(([stage, same]) => [t(`quality.stage_${stage}`),
    el("span", { class: same ? "muted" : "differs" }, t(same ? "quality.same" : "quality.differs")),
    found.differences[stage] ? told(found.differences[stage], t) : ""]);
  return table(t("quality.differences"), [[t("quality.stage")], [t("quality.now")], [t("quality.differences")]], rows);
}
