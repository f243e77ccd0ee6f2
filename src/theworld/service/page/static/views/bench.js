// Test bench: one question searched with two settings, the passages, files and times side by side. Nothing live counts it.

import { announce, duration, el, fill } from "../dom.js";
import { resultTable, statement } from "../results.js";

export const stylesheet = "views/bench.css";
const CHANNELS = ["sparse", "dense", "graph"];
const SIDES = ["A", "B"];
const MOST = 100;
let bench = null;  // question, settings and results of a tenant, kept while the page is open
let view = null;

export async function mount(element, api, t) {
  const mine = view = { element, api, t, abort: null };
  const [graph, store] = await Promise.all([api.get("/api/v1/nodes"), api.get("/api/v1/store")]);
  if (mine !== view) return;
  if (bench?.tenant !== api.tenant) bench = fresh(api.tenant);
  view.switches = ["rerank", "router", store.ontology && "ontology", graph.nodes.some((node) => node.name === "query_database") && "database"].filter(Boolean);
  view.results = el("div", { class: "bench-results", "aria-live": "off" });
  fill(element, el("h1", {}, t("bench.title")), el("p", { class: "muted" }, t("bench.intro")), form(), view.results);
  drawResults();
}

export function unmount() {
  view?.abort?.abort();
  view = null;
}

function fresh(tenant) {
  const setting = (changes) => ({ channels: [...CHANNELS], rerank: true, router: true, ontology: true, database: true, k: 10, ...changes });
  return { tenant, question: "", compare: true, settings: { A: setting({}), B: setting({ rerank: false }) }, results: {} };
}

function form() {
  const { t } = view;
  const question = el("input", { type: "text", id: "tried", maxlength: "10000", required: true, value: bench.question,
    placeholder: t("ask.placeholder"), oninput: () => { bench.question = question.value; } });
  const sides = el("div", { class: "bench-sides" });
  const draw = () => fill(sides, shown().map(settingOf));
  const compare = el("input", { type: "checkbox", id: "compare", checked: bench.compare, onchange: () => { bench.compare = compare.checked; draw(); drawResults(); } });
  view.run = el("button", { type: "submit", class: "primary" }, t("bench.run"));
  view.stop = el("button", { type: "button", hidden: true, onclick: () => view.abort?.abort() }, t("ask.stop"));
  draw();
  return el("form", { class: "card bench-form", onsubmit: (event) => { event.preventDefault(); run(); } },
    el("label", { for: "tried" }, t("ask.question")), el("div", { class: "row bench-asked" }, question, view.run, view.stop),
    el("label", { class: "check" }, compare, t("bench.compare")), sides);
}

const shown = () => (bench.compare ? SIDES : SIDES.slice(0, 1));

function settingOf(side) {
  const { t } = view, setting = bench.settings[side];
  const check = (name, on, set) => {
    const box = el("input", { type: "checkbox", checked: on, "data-name": name, onchange: () => set(box.checked) });
    return el("label", { class: "check" }, box, CHANNELS.includes(name) ? t(`found.channel_${name}`) : t(`bench.${name}`));
  };
  const channels = CHANNELS.map((name) => check(name, setting.channels.includes(name), (on) => {
    setting.channels = CHANNELS.filter((other) => (other === name ? on : setting.channels.includes(other)));
    group.querySelector("input").setCustomValidity(setting.channels.length ? "" : t("bench.no_channel"));
  }));
  const group = el("div", { class: "row", role: "group", "aria-label": t("bench.channels") }, el("span", { class: "muted small" }, t("bench.channels")), channels);
  const k = el("input", { type: "number", id: `k-${side}`, min: "1", max: String(MOST), required: true, value: setting.k, oninput: () => { setting.k = k.valueAsNumber; } });
  return el("fieldset", { "data-side": side }, el("legend", {}, t("bench.setting", { side })), group,
    el("div", { class: "row" }, view.switches.map((name) => check(name, setting[name], (on) => { setting[name] = on; })),
      el("label", { class: "check", for: k.id }, t("bench.k")), k));
}

/** One side after the other, so that neither takes the other's time. */
async function run() {
  const mine = view;
  if (!bench.question.trim() || mine.abort) return;
  mine.abort = new AbortController();
  bench.results = {};
  working(true);
  try {
    for (const side of shown()) {
      drawResults(side);
      bench.results[side] = await tried(mine, bench.settings[side]);
    }
  } catch (error) {
    if (error.name !== "AbortError") throw error;
  } finally {
    if (mine === view) {
      if (document.activeElement === view.stop) view.element.querySelector("#tried").focus();
      working(false);
      drawResults();
      announce(view.t(mine.abort.signal.aborted ? "ask.stopped" : "bench.done"));
    }
    mine.abort = null;
  }
}

async function tried({ api, abort }, setting) {
  const body = { query: bench.question.trim(), top_k: setting.k, enable_rerank: setting.rerank, enable_router: setting.router,
    enable_ontology: setting.ontology, enable_database: setting.database };
  const ontology = setting.ontology && view.switches.includes("ontology") ? ["ontology"] : [];
  if (setting.channels.length < CHANNELS.length) body.channels = [...setting.channels, ...ontology];  // all: the router chooses among them
  try {
    return await api.post("/api/v1/retrieval/bench", body, { signal: abort.signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    return { problem: error.message };
  }
}

function working(now) {
  view.run.hidden = now;
  view.stop.hidden = !now;
  view.results.setAttribute("aria-busy", String(now));
}

function drawResults(waiting = "") {
  const { t, results } = view;
  const sides = shown().filter((side) => bench.results[side] || side === waiting);
  const found = sides.filter((side) => bench.results[side]?.candidates);
  fill(results, sides.length > 0 && [
    el("div", { class: "bench-sides" }, sides.map((side) => summary(side))),
    found.some((side) => bench.results[side].candidates.length) && [filesTable(found), el("h2", {}, t("bench.passages")),
      el("div", { class: "bench-sides" }, found.map((side) => passages(side, found)))],
    found.length > 0 && timesTable(found),
  ]);
}

function summary(side) {
  const { t } = view, data = bench.results[side];
  const head = el("h2", {}, t("bench.setting", { side }));
  if (!data) return el("section", { class: "card" }, head, el("p", { class: "muted" }, t("bench.searching")));
  if (data.problem) return el("section", { class: "card" }, head, el("p", { class: "problem", role: "alert" }, data.problem));
  const ways = Object.entries(data.route.channels).map(([name, plan]) => el("li", { class: "chip" }, `${t(`found.channel_${name}`)} × ${plan.weight.toFixed(2)}`));
  const rows = data.tables.reduce((sum, table) => sum + table.rows.length, 0);
  return el("section", { class: "card", "data-side": side }, head,
    el("p", {}, t("bench.found", { n: data.candidates.length, files: filesOf(data).length, ms: duration(data.elapsed_ms) })),
    data.query !== bench.question.trim() && el("p", { class: "muted" }, `${t("ask.understood_as")} `, el("q", {}, data.query)),
    el("ul", { class: "bench-chips" }, el("li", { class: "chip" }, t(`found.route_path_${data.route.path}`)), ways, el("li", { class: "chip" }, t(`bench.rerank_${data.rerank_outcome}`)),
      data.ontology?.matches.length > 0 && el("li", { class: "chip" }, t("bench.ontology_found", { n: data.ontology.matches.length })),
      data.tables.length > 0 && el("li", { class: "chip" }, t("bench.rows", { n: rows }))),
    data.route.reasons.length > 0 && el("details", {}, el("summary", {}, t("bench.reasons")), el("ul", {}, data.route.reasons.map((reason) => el("li", {}, t.reason(reason))))),
    data.tables.length > 0 && el("details", {}, el("summary", {}, "SQL"), data.tables.map((table) => [statement(table), resultTable(table, t)])),
    data.degradations.length > 0 && el("ul", { class: "notice bench-plain" }, data.degradations.map((one) => el("li", {}, `${stageName(one.stage)}: ${t.reason(one.reason)}`))));
}

/** The documents of a list by their best passage: {id, title, rank, count}. */
function filesOf(data) {
  const files = new Map();
  data.candidates.forEach((note, place) => {
    const file = files.get(note.document_id) ?? { id: note.document_id, title: note.title || note.document_id, rank: place + 1, count: 0 };
    files.set(note.document_id, Object.assign(file, { count: file.count + 1 }));
  });
  return [...files.values()].map((file, place) => ({ ...file, place: place + 1 }));
}

function filesTable(sides) {
  const { t } = view;
  const lists = sides.map((side) => new Map(filesOf(bench.results[side]).map((file) => [file.id, file])));
  const all = [...new Map(lists.flatMap((files) => [...files])).values()];
  const cell = (file) => el("td", {}, file ? [el("strong", {}, file.place), ` · ${t("bench.count", { n: file.count })}`] : el("span", { class: "muted" }, t("bench.absent")));
  const row = ({ id, title }) => el("tr", {}, el("th", { scope: "row" }, documentLink(id, title)), lists.map((files) => cell(files.get(id))),
    lists.length > 1 && el("td", {}, moved(lists[1].get(id)?.place, lists[0].get(id)?.place, "B", "A")));
  return table(t("bench.files"), [t("bench.file"), ...sides, ...(sides.length > 1 ? [t("bench.change")] : [])], all.map(row), "bench-files");
}

function table(title, heads, rows, kind) {
  return [el("h2", {}, title), el("div", { class: `scroll ${kind}`, tabindex: "0", role: "group", "aria-label": title },
    el("table", {}, el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col" }, head)))), el("tbody", {}, rows)))];
}

const documentLink = (id, title) => el("a", { href: `#/documents/${encodeURIComponent(id)}` }, title);

function passages(side, sides) {
  const { t } = view;
  const other = sides.find((one) => one !== side);
  const ranks = new Map(other ? bench.results[other].candidates.map((note, place) => [note.note_id, place + 1]) : []);
  const item = (note, place) => el("li", { class: "card passage" },
    el("p", { class: "row spread" }, el("span", {}, el("strong", { class: "place" }, place + 1), " ", documentLink(note.document_id, note.title || note.document_id)),
      other && moved(place + 1, ranks.get(note.note_id), side, other)),
    note.section.length > 0 && el("p", { class: "muted small" }, note.section.join(" › ")),
    el("p", { class: "excerpt" }, note.text), scores(note));
  const { candidates } = bench.results[side];
  return el("section", { "data-side": side, "aria-label": `${t("bench.passages")}: ${t("bench.setting", { side })}` }, el("h3", {}, t("bench.setting", { side })),
    candidates.length ? el("ol", { class: "bench-plain" }, candidates.map(item)) : el("p", { class: "muted" }, t("bench.nothing")));
}

/** How a place differs from the other side's, as a mark with words for those who hear it. */
function moved(rank, before, side, other) {
  const { t } = view;
  if (!rank || !before) return el("span", { class: "chip moved only" }, t("bench.only", { side: rank ? side : other }));
  const way = rank < before ? "up" : rank > before ? "down" : "same";
  const mark = { up: "↑", down: "↓", same: "=" }[way];
  return el("span", { class: `chip moved ${way}` }, el("span", { "aria-hidden": "true" }, way === "same" ? mark : `${mark} ${Math.abs(rank - before)}`),
    el("span", { class: "unseen" }, t(`bench.${way}`, { n: Math.abs(rank - before), other })));
}

function scores(note) {
  const { t } = view;
  const channel = (name) => [t(`found.channel_${name}`), note.channels[name]?.rank, note.channels[name]?.score];
  const all = [...[...CHANNELS, ...view.switches.filter((name) => name === "ontology")].map(channel), [t("found.fused"), note.fused_rank, note.fused_score], [t("bench.rerank"), note.rerank_rank, note.rerank_score]];
  const cell = ([, rank, score]) => el("td", {}, rank ? el("strong", {}, rank) : el("span", { class: "muted" }, "–"), typeof score === "number" && el("span", { class: "score" }, number(score)));
  return el("table", { class: "scores" }, el("thead", {}, el("tr", {}, all.map(([name]) => el("th", { scope: "col" }, name)), el("th", { scope: "col" }, t("found.relevance")))),
    el("tbody", {}, el("tr", {}, all.map(cell), el("td", {}, el("strong", {}, note.final_score.toFixed(2)), el("meter", { min: "0", max: "1", value: note.final_score, "aria-label": t("found.relevance") })))));
}

const number = (score) => (Math.abs(score) >= 100 ? score.toFixed(0) : score.toPrecision(3));

function timesTable(sides) {
  const { t } = view;
  const stages = [...new Set(sides.flatMap((side) => bench.results[side].stages.map((stage) => stage.stage)))];
  const spent = (side, stage) => bench.results[side].stages.filter((one) => one.stage === stage).reduce((sum, one) => sum + one.elapsed_ms, 0);
  const ran = (side, stage) => bench.results[side].stages.some((one) => one.stage === stage);
  const most = Math.max(1, ...sides.flatMap((side) => stages.map((stage) => spent(side, stage))));
  const cell = (side, stage) => el("td", {}, ran(side, stage) ? [el("meter", { min: "0", max: most, value: spent(side, stage), "aria-label": t("found.time") }), ` ${duration(spent(side, stage))}`]
    : el("span", { class: "muted" }, t("bench.left_out")));
  const rows = stages.map((stage) => el("tr", {}, el("th", { scope: "row" }, stageName(stage)), sides.map((side) => cell(side, stage))));
  const total = el("tr", {}, el("th", { scope: "row" }, t("bench.total")), sides.map((side) => el("td", {}, el("strong", {}, duration(bench.results[side].elapsed_ms)))));
  return [table(t("found.times"), [t("found.stage"), ...sides], [...rows, total], "bench-times"), sides.length > 1 && el("p", { class: "muted small" }, t("bench.warm"))];
}

function stageName(stage) {
  const { t } = view;
  return t.has(`found.node_${stage}`) ? t(`found.node_${stage}`) : stage;
}
