// Ask: threads and scope, the dialogue, and the evidence of the chosen answer.

import { citationCard, isOfDocument, openDocument } from "../evidence.js";
import { ApiError } from "../api.js";
import * as talk from "../conversation.js";
import { announce, duration, el, fill, setCleaned } from "../dom.js";
import { isWeighed, resultTable, sureness } from "../results.js";
import { drawScope } from "../scope.js";

export const stylesheet = "views/ask.css";
let view = null;

export function mount(element, api, t) {
  talk.openThreads(api.tenant);
  const threads = el("nav", { class: "threads", "aria-label": t("ask.threads") });
  const scope = el("section", { class: "scope", "aria-label": t("ask.scope") });
  const log = el("div", { class: "log", role: "log", "aria-live": "polite", "aria-label": t("ask.dialogue"), tabindex: "0" });
  const evidence = el("section", { class: "evidence", "aria-label": t("ask.evidence") });
  view = { api, t, threads, scope, log, evidence, turn: null, drawn: null, said: "" };
  const aside = el("aside", { class: "pane side", "aria-label": t("ask.threads_scope") }, threads, scope);
  fill(element, aside, el("section", { class: "pane dialogue", "aria-label": t("ask.dialogue") },
    el("h1", { class: "unseen" }, t("ask.title")), log, composer()), evidence);
  talk.changed.addEventListener("change", redraw);
  redraw();
  view.question.focus({ preventScroll: true });
}

export function unmount() {
  talk.changed.removeEventListener("change", redraw);
  view = null;
}

function composer() {
  const { t } = view;
  const submit = (event) => {
    event?.preventDefault();
    const question = view.question.value.trim();
    if (!question || talk.runningTurn()) return;
    view.question.value = "";
    talk.ask(view.api, question);
  };
  view.question = el("textarea", {
    id: "question", rows: "2", maxlength: "10000", placeholder: t("ask.placeholder"), "aria-describedby": "question-help",
    onkeydown: (event) => {
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) submit(event);  // not while an IME composes
    },
  });
  view.send = el("button", { type: "submit", class: "primary" }, t("ask.send"));
  view.stop = el("button", { type: "button", class: "stop", hidden: true, onclick: stopped }, t("ask.stop"));
  return el("form", { class: "composer", onsubmit: submit },
    el("label", { for: "question", class: "unseen" }, t("ask.question")), view.question,
    el("div", { class: "row spread" }, el("span", { id: "question-help", class: "muted small" }, t("ask.keys")), view.send, view.stop));
}

function stopped() {
  talk.stop();
  view.question.focus();
}

function redraw() {
  if (!view) return;
  const thread = talk.chosenThread();
  if (view.drawn !== thread) Object.assign(view, { drawn: thread, turn: null });
  const turn = talk.runningTurn();
  view.stop.hidden = !turn;
  view.send.hidden = Boolean(turn);
  drawThreads();
  drawScope(view.scope, thread.scope, view.t, talk.notify, view.api);
  drawLog(thread);
  const last = thread.turns.at(-1) ?? null;
  if (last !== view.last) view.turn = last;
  view.last = last;
  if (view.turn?.state !== view.shownState || view.turn !== view.shownTurn) drawEvidence();
}

function drawThreads() {
  const { t } = view;
  const now = talk.chosenThread();
  const item = (thread) => el("li", {},
    el("button", { type: "button", class: "thread", "aria-current": thread === now ? "true" : null, onclick: () => talk.choose(thread.id) },
      thread.title || t("ask.new_thread")),
    el("button", { type: "button", class: "quiet forget", "aria-label": t("ask.forget_thread", { title: thread.title || t("ask.new_thread") }),
      onclick: () => talk.removeThread(thread.id) }, "×"));
  const all = talk.openThreads(view.api.tenant).threads;
  fill(view.threads, el("button", { type: "button", class: "wide", onclick: () => { talk.newThread(); view.question.focus(); } }, t("ask.new")),
    el("ul", {}, ...all.map(item)));
}

function drawLog(thread) {
  const { t, log } = view;
  const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 80;
  const kept = new Map([...log.children].filter((node) => node.turn && node.turn.state === node.state && node.state !== "running").map((node) => [node.turn, node]));
  const nodes = thread.turns.map((turn) => (kept.get(turn) ?? drawTurn(turn)));
  if (!nodes.length) nodes.push(view.welcome ??= welcome());
  if (nodes.length !== log.children.length || nodes.some((node, place) => node !== log.children[place])) log.replaceChildren(...nodes);
  if (atEnd || talk.runningTurn()) show(log.lastElementChild);
  const turn = talk.runningTurn();
  log.setAttribute("aria-busy", turn ? "true" : "false");
  const said = turn?.stages.length ? t(`found.node_${turn.stages.at(-1).stage}`) : "";
  if (said && said !== view.said) announce(said);
  view.said = said;
}

function show(node) {  // by the log alone where it scrolls, so that the page stands still
  if (view.log.scrollHeight > view.log.clientHeight) view.log.scrollTop = node.offsetTop - view.log.offsetTop - 24;
  else if (matchMedia("(max-width: 1020px)").matches) node.scrollIntoView({ block: "start" });
}

function welcome() {
  const { t } = view, held = el("div", {});
  tellStore(held);
  return el("div", { class: "welcome" }, el("h2", {}, t("ask.welcome")), el("p", { class: "muted" }, t("ask.welcome_more")), held);
}

async function tellStore(place) {  // how much there is to ask, and titles that are questions themselves
  const { t, api } = view, begin = t("ask.example");
  try {
    const store = await api.get("/api/v1/store");
    const { documents } = await api.get("/api/v1/documents", { search: begin, limit: 50 });
    const titles = documents.map((document) => document.title).filter((title) => title.toLowerCase().startsWith(begin));
    fill(place, el("p", { class: "muted" }, t(store.documents ? "ask.held" : "ask.empty", { n: store.documents })),
      ...titles.slice(0, 3).map((title) => el("button", { type: "button", class: "option", onclick: () => talk.ask(api, title) }, title)));
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;  // the next question says it too
  }
}

function drawTurn(turn) {
  const node = el("article", { class: "turn" }, el("p", { class: "asked" }, el("span", { class: "unseen" }, `${view.t("ask.you")}: `), turn.question), drawAnswer(turn));
  return Object.assign(node, { turn, state: turn.state });
}

function drawAnswer(turn) {
  const { t } = view;
  if (turn.state === "running") return drawRunning(turn);
  if (turn.state === "stopped") return el("div", { class: "answer" }, turn.text && el("p", { class: "tokens" }, turn.text), el("p", { class: "muted" }, t("ask.stopped")), again(turn));
  if (turn.state !== "done") return el("div", { class: "answer" }, el("p", { class: "problem" }, turn.error || t("ask.broken")), again(turn));
  if (turn.kind === "clarify") return drawClarification(turn);
  const body = setCleaned(el("div", { class: "rendered", lang: turn.language, onclick: (event) => followCitation(event, turn) }), turn.answer_html ?? "");
  return el("div", { class: "answer" }, understoodAs(turn), chips(turn), body, tables(turn), footer(turn));
}

function drawRunning(turn) {
  const { t } = view;
  const steps = turn.stages.slice(-1).map((stage) => t(`found.node_${stage.stage}`));
  return el("div", { class: "answer running" },
    el("p", { class: "working" }, el("span", { class: "pulse", "aria-hidden": "true" }), steps[0] ?? t("ask.waiting")),
    turn.text && el("div", { class: "tokens" }, turn.text));
}

function drawClarification(turn) {
  const { t, api } = view;
  const options = turn.clarification.options ?? [];
  return el("div", { class: "answer" },
    el("p", {}, String(turn.clarification.question ?? turn.answer).split("\n")[0]),
    el("div", { class: "row", role: "group", "aria-label": t("ask.choose") },
      ...options.map((option) => el("button", { type: "button", class: "option", onclick: () => talk.ask(api, turn.question, option) }, option))));
}

function again(turn) {
  return el("p", {}, el("button", { type: "button", disabled: Boolean(talk.runningTurn()), onclick: () => talk.ask(view.api, turn.question) }, view.t("ask.again")));
}

function understoodAs(turn) {
  const query = turn.reference?.standalone_query;
  return query && query !== turn.question ? el("p", { class: "understood" }, `${view.t("ask.understood_as")} `, el("q", {}, query)) : null;
}

function chips(turn) {
  const { t } = view;
  return el("p", { class: "row sureness" }, turn.asked && el("span", { class: `chip sure-${turn.sureness}` }, sureness(turn, t)),
    isWeighed(turn) ? null : el("span", { class: "chip" }, t(`found.kind_${turn.kind}`)),
    turn.degradations?.length ? el("span", { class: "chip" }, t("ask.degraded", { n: turn.degradations.length })) : null);
}

function tables(turn) {  // a single figure has been said
  return (turn.tables ?? []).filter(({ rows, columns }) => rows.length * columns.length > 1).map((table) => resultTable(table, view.t));
}

function footer(turn) {
  const { t, api } = view;
  const status = el("span", { class: "muted small", role: "status" }, turn.verdict ? t("ask.thanks") : "");
  const thumbs = ["good", "bad"].map((verdict) => el("button", {
    type: "button", class: "quiet thumb", "aria-label": t(`ask.${verdict}`), title: t(`ask.${verdict}`), "aria-pressed": String(turn.verdict === verdict),
    onclick: () => judge(turn, verdict, thumbs, status, api),
  }, thumbIcon(verdict)));
  return el("footer", { class: "row" }, ...thumbs, status,
    el("a", { class: "small push", href: `#/found/${turn.request_id}` }, t("ask.how")),
    el("button", { type: "button", class: "quiet small", onclick: () => { view.turn = turn; drawEvidence(); view.evidence.querySelector("button")?.focus(); } },
      t("ask.show_evidence", { n: turn.citations.length || turn.nearest.length })),
    el("span", { class: "muted small" }, duration(turn.elapsed_ms)));
}

function thumbIcon(verdict) {
  return el("svg", { viewBox: "0 0 24 24", width: 18, height: 18, "aria-hidden": "true", class: verdict === "bad" ? "down" : null },
    el("path", { d: "M7 11v9H4v-9zM7 11l4-8c1.7 0 2.6 1.2 2.3 2.8L12.7 9H18c1.5 0 2.5 1.3 2.1 2.8l-1.7 6.4c-.3 1.1-1.2 1.8-2.3 1.8H7" }));
}

async function judge(turn, verdict, thumbs, status, api) {
  try {
    await api.post("/api/v1/feedback", { request_id: turn.request_id, verdict });
    turn.verdict = verdict;
    thumbs.forEach((thumb, place) => thumb.setAttribute("aria-pressed", String((place === 0) === (verdict === "good"))));
    status.textContent = view?.t("ask.thanks") ?? "";
    talk.notify();
  } catch (error) {
    status.textContent = error.message;
  }
}

function followCitation(event, turn) {
  const link = event.target.closest("a.cite");
  if (!link) return;
  event.preventDefault();
  const number = Number(link.getAttribute("href").replace("#cite-", ""));
  const citation = turn.citations.find((item) => item.number === number);
  if (!citation) return;
  view.turn = turn;
  if (isOfDocument(citation)) return showDocument(citation, turn.citations, link);
  drawEvidence();
  view.evidence.querySelector(`[data-number="${number}"]`)?.focus();
}

function showDocument(citation, citations, from) {
  const back = () => {
    drawEvidence();
    (from?.isConnected ? from : view.evidence.querySelector(`[data-number="${citation.number}"]`))?.focus();
  };
  openDocument(view.evidence, citation, citations, view.api, view.t, back);
  if (matchMedia("(max-width: 1020px)").matches) view.evidence.scrollIntoView({ block: "start" });
}

function drawEvidence() {
  const { t, evidence, turn } = view;
  Object.assign(view, { shownTurn: turn, shownState: turn?.state });
  const nearest = turn?.nearest ?? [];
  const shown = nearest.length ? nearest : turn?.citations ?? [];
  const heading = nearest.length ? t("ask.nearest") : t("ask.evidence");
  const sections = setCleaned(el("div"), turn?.answer_html ?? "").querySelectorAll("section.passage");
  const cards = shown.map((citation) => citationCard(citation, turn.marks?.[citation.number], sections[citation.number - 1], t, (item) => showDocument(item, shown)));
  fill(evidence, el("h2", {}, heading), shown.length ? el("ol", { class: "evidence-list" }, ...cards) : el("p", { class: "muted" }, t("ask.no_evidence_yet")));
}
