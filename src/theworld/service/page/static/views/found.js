// How it was found: the stages that ran, what each channel brought, and why the answer is what it is.

import * as talk from "../conversation.js";
import { nodeGraph, pathDrawing } from "../drawing.js";
import { duration, el, fill } from "../dom.js";
import { resultTable, statement, sureness } from "../results.js";

export const stylesheet = "views/found.css";
const SHOWN = 12;
const TRIES = 8;
let view = null;

export async function mount(element, api, t, [requestId]) {
  talk.openThreads(api.tenant);
  const stage = el("div", { class: "card graph-card", tabindex: "0", role: "group", "aria-label": t("found.graph") }), record = el("div", { class: "record" });
  const mine = { api, t, stage, record, shown: null, drawing: null };
  view = mine;
  fill(element, el("h1", {}, t("found.title")), form(api, t), el("div", { class: "found-columns" },
    el("section", { "aria-label": t("found.graph") }, stage), el("section", { "aria-label": t("found.summary"), "aria-live": "polite" }, record)));
  const layout = await api.get("/api/v1/nodes");
  if (view !== mine) return;
  mine.drawing = nodeGraph(layout, t);
  fill(stage, mine.drawing.svg);
  talk.changed.addEventListener("change", follow);
  const turn = talk.latestTurn();
  if (requestId) await showRecord(requestId);
  else if (turn) follow();
  else fill(record, el("p", { class: "muted" }, t("found.nothing_yet")));
}

export function unmount() {
  talk.changed.removeEventListener("change", follow);
  view = null;
}

function form(api, t) {
  const input = el("input", { type: "text", id: "watched", maxlength: "10000", placeholder: t("ask.placeholder") });
  const run = (event) => {
    event.preventDefault();
    const question = input.value.trim();
    if (!question || talk.runningTurn()) return;
    if (location.hash !== "#/found") history.replaceState(null, "", "#/found");
    input.value = "";
    view.shown = null;
    talk.ask(api, question);
  };
  return el("form", { class: "watch", onsubmit: run }, el("label", { for: "watched" }, t("found.ask_here")),
    el("div", { class: "row" }, input, el("button", { type: "submit", class: "primary" }, t("found.run"))));
}

/** While a question is answered its stages light up; then its record is shown. */
function follow() {
  const turn = talk.latestTurn();
  if (!view?.drawing || !turn || (location.hash.split("/")[2] && turn.state !== "running")) return;
  view.drawing.light(turn.stages ?? []);
  if (turn.state === "running") fill(view.record, el("h2", {}, turn.question), el("p", { class: "muted" }, turn.stages.length ? view.t(`found.node_${turn.stages.at(-1).stage}`) : view.t("ask.waiting")));
  else if (turn.state === "done" && view.shown !== turn.request_id) showRecord(turn.request_id);
  else if (turn.error) fill(view.record, el("p", { class: "problem" }, turn.error));
}

async function showRecord(requestId) {
  const mine = view;
  mine.shown = requestId;
  const found = await recordOf(requestId);
  if (view !== mine || mine.shown !== requestId) return;
  if (!found) {
    fill(mine.record, el("p", { class: "problem", role: "alert" }, mine.t("found.no_record")));
    return;
  }
  mine.drawing.light(found.timings.stages);
  fill(mine.record, ...sections(found, mine.t), el("p", {}, el("a", { href: `#/quality/replay/${encodeURIComponent(requestId)}` }, mine.t("quality.replay"))));
}

async function recordOf(requestId) {
  for (let tried = 0; tried < TRIES; tried += 1) {  // records are written just after the answer
    try {
      return (await view.api.get(`/api/v1/retrieval/explain/${encodeURIComponent(requestId)}`)).explanation;
    } catch (error) {
      if (error.status !== 404) throw error;
      await new Promise((wait) => setTimeout(wait, 150 * (tried + 1)));
      if (!view) return null;
    }
  }
  return null;
}

function sections(found, t) {
  return [summary, insufficient, degradations, references, tables, channels, paths, times].map((make) => make(found, t));
}

function card(heading, ...content) {
  return el("section", { class: "card" }, el("h2", {}, heading), ...content);
}

function summary(found, t) {
  const kind = found.clarification ? "clarify" : found.answer?.kind ?? "none";
  const rows = [
    [t("found.outcome"), `${t(`found.kind_${kind}`)}${kind in { none: 1, clarify: 1 } ? "" : ` · ${sureness(found.answer, t)}`}`],
    [t("found.total"), duration(found.timings.elapsed_ms)],
    found.route && [t("found.route"), [t(`found.route_path_${found.route.path}`), ...(found.route.reasons ?? []).map(t.reason)].join(" · ")],
    [t("found.model"), usage(found.other.usage, t)],
    found.answer?.reason && [t("found.because"), t.reason(found.answer.reason)],
  ].filter(Boolean);
  const facts = rows.map(([name, text]) => el("div", {}, el("dt", {}, name), el("dd", {}, text)));
  return el("section", { class: "card" }, el("h2", { class: "asked-question" }, found.request.question),
    found.answer?.short ? el("p", { class: "short" }, found.answer.short) : null, el("dl", { class: "facts" }, ...facts));
}

function usage(used, t) {
  if (!used?.calls) return t("found.no_model");
  const cost = Object.entries(used.cost ?? {}).map(([currency, amount]) => `${amount.toPrecision(3)} ${currency}`);
  const more = [used.estimated && t("found.estimated"), ...cost, used.unpriced_calls && t("found.unpriced", { n: used.unpriced_calls })];
  return [t("found.tokens", { calls: used.calls, prompt: used.prompt_tokens, completion: used.completion_tokens }), ...more.filter(Boolean)].join(" · ");
}

function insufficient(found, t) {
  if (found.clarification || found.route?.path === "none" || (found.answer && found.answer.kind !== "none")) return null;
  const near = found.rerank.results.slice(0, 3);
  const item = (row) => el("li", {}, el("strong", {}, row.title || row.document_id), " ", el("span", { class: "muted small" }, row.note_id),
    meter(row.final_score, t("found.relevance")));
  return card(t("found.insufficient"), el("p", {}, found.answer?.text ?? ""),
    near.length ? [el("p", { class: "muted" }, t("found.insufficient_more")), el("ol", { class: "near" }, ...near.map(item))] : el("p", { class: "muted" }, t("found.nothing_near")));
}

function meter(value, label) {
  return el("span", { class: "meter" }, el("meter", { min: "0", max: "1", value, "aria-label": label }), ` ${value.toFixed(2)}`);
}

function degradations(found, t) {
  const late = (item) => /deadline|budget|in time|too late|timeout/i.test(item.reason);
  const item = (one) => el("li", {}, el("strong", {}, name(one.stage, t)), `: ${t.reason(one.reason)} `, late(one) ? el("span", { class: "chip sure-unsure" }, t("found.deadline")) : null);
  if (!found.degradations.length) return card(t("found.degradations"), el("p", { class: "muted" }, t("found.clean")));
  return card(t("found.degradations"), el("ul", { class: "plain notice" }, ...found.degradations.map(item)));
}

function name(stage, t) {
  return t.has(`found.node_${stage}`) ? t(`found.node_${stage}`) : stage;
}

function counted(what, t) {
  return t.has(`found.count_${what}`) ? t(`found.count_${what}`) : what.replaceAll("_", " ");
}

/** Which words of the query are not the question's own. */
function references(found, t) {
  const { question, query } = found.request;
  if (!query || query === question) return card(t("found.history"), el("p", { class: "muted" }, t("found.history_none")));
  const words = (text) => [...new Intl.Segmenter(undefined, { granularity: "word" }).segment(text)];
  const own = new Set(words(question.toLowerCase()).map((part) => part.segment));
  const shown = words(query).map((part) => (part.isWordLike && !own.has(part.segment.toLowerCase()) ? el("mark", {}, part.segment) : part.segment));
  const from = found.reference?.resolved_content;
  return card(t("found.history"), el("p", { class: "muted" }, t("found.history_words")), el("p", { class: "query" }, ...shown),
    from ? el("blockquote", {}, el("span", { class: "muted small" }, `${t("found.history_from")}: `), from) : null);
}

function tables(found, t) {
  const all = found.other.tables ?? [];
  if (!all.length) return null;
  return card(t("found.tables"), all.map((table) => [statement(table), resultTable(table, t)]));
}

function channels(found, t) {
  const names = Object.keys(found.channels);
  if (!names.length) return null;
  const ranks = Object.fromEntries(names.map((channel) => [channel, new Map(found.channels[channel].hits.map((hit) => [hit.note_id, hit.rank]))]));
  const label = (channel) => t(`found.channel_${channel}`);
  const head = names.map((channel) => el("li", {}, t("found.channel_head", {
    name: label(channel), weight: found.channels[channel].weight.toFixed(2), n: found.channels[channel].hits.length, ms: duration(found.channels[channel].elapsed_ms) })));
  const ranked = found.rerank.results.length ? found.rerank.results : found.fusion.notes.map((note, place) => ({ ...note, position: place + 1, fused_rank: note.rank }));
  const row = (note) => el("tr", {},
    el("th", { scope: "row", class: "note-name" }, note.title || note.document_id || "", el("span", { class: "muted small" }, note.note_id)),
    ...names.map((channel) => rankCell(ranks[channel].get(note.note_id), t)), el("td", { class: "number" }, note.fused_rank ?? "–"),
    el("td", { class: "number" }, note.position), el("td", {}, note.final_score === undefined || note.final_score === null ? "–" : meter(note.final_score, t("found.relevance"))));
  const columns = [...names.map(label), t("found.fused"), t("found.final")].map((text) => el("th", { scope: "col", class: "number" }, text));
  return card(t("found.channels"), el("p", { class: "muted" }, t("found.channels_more")), el("ul", { class: "plain small muted" }, ...head),
    el("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": t("found.channels") }, el("table", { class: "ranks" }, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, t("found.note")), ...columns, el("th", { scope: "col" }, t("found.relevance")))),
      el("tbody", {}, ...ranked.slice(0, SHOWN).map(row)))));
}

function rankCell(rank, t) {
  if (!rank) return el("td", { class: "number muted" }, el("span", { "aria-hidden": "true" }, "·"), el("span", { class: "unseen" }, t("found.not_found")));
  return el("td", { class: "number" }, el("span", { class: rank <= 3 ? "rank best" : "rank" }, rank));
}

function paths(found, t) {
  const drawn = found.paths.filter((path) => path.steps?.length).slice(0, SHOWN);
  if (!drawn.length) return null;
  return card(t("found.paths"), el("p", { class: "muted" }, t("found.paths_more")), ...drawn.map((path) => pathDrawing(path, t)));
}

function times(found, t) {
  const most = Math.max(...found.timings.stages.map((stage) => stage.elapsed_ms), 1);
  const row = (stage) => el("tr", {}, el("th", { scope: "row" }, name(stage.stage, t)), el("td", { class: "number" }, duration(stage.elapsed_ms)),
    el("td", { class: "bar-cell" }, el("meter", { min: "0", max: most, value: stage.elapsed_ms, "aria-label": t("found.time") })),
    el("td", { class: "muted small" }, [...Object.entries(stage.counts ?? {}).map(([what, count]) => `${counted(what, t)}: ${count}`), ...(stage.notes ?? []).map(t.reason)].join(" · ")));
  const rest = [["between", found.timings.between_nodes_ms], ["around", found.timings.around_graph_ms]].map(([key, ms]) =>
    el("tr", {}, el("th", { scope: "row" }, t(`found.${key}`)), el("td", { class: "number" }, duration(Math.max(ms, 0))), el("td"), el("td")));
  return card(t("found.times"), el("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": t("found.times") }, el("table", {},
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, t("found.stage")), el("th", { scope: "col", class: "number" }, t("found.time")), el("td"), el("th", { scope: "col" }, t("found.said")))),
    el("tbody", {}, ...found.timings.stages.map(row), ...rest))));
}
