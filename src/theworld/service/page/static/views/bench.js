// Test bench: one question under one or two settings, their passages, scores and files side by side; nothing live is touched.

import { announce, duration, el, fill } from "../dom.js";

export const stylesheet = "views/bench.css";
const CHANNELS = ["sparse", "dense", "graph"];
const SWITCHES = ["rerank", "router"];
const LONGEST = 320;
const kept = { question: "", both: false, sides: [settings(), settings()] };  // while the page is open
let view = null;

function settings() {
  return { channels: [...CHANNELS], rerank: true, router: true, top_k: 10 };
}

export function mount(element, api, t) {
  const results = el("div", { class: "bench-results", "aria-live": "polite" });
  view = { api, t, results, running: null };
  fill(element, el("h1", {}, t("bench.title")), el("p", { class: "muted" }, t("bench.more")), form(), results);
}

export function unmount() {
  view.running?.abort();
  view = null;
}

function form() {
  const { t } = view;
  const question = el("input", { type: "text", id: "bench-question", maxlength: "10000", value: kept.question, placeholder: t("ask.placeholder") });
  const sides = el("div", { class: "bench-sides" });
  const drawSides = () => fill(sides, kept.sides.slice(0, kept.both ? 2 : 1).map((side, place) => sideForm(side, place)));
  const both = el("input", { type: "checkbox", checked: kept.both, onchange: () => { kept.both = both.checked; drawSides(); } });
  drawSides();
  const submit = (event) => {
    event.preventDefault();
    kept.question = question.value.trim();
    if (kept.question) run();
  };
  return el("form", { class: "card", onsubmit: submit }, el("label", { for: "bench-question" }, t("ask.question")),
    el("div", { class: "row bench-ask" }, question, el("button", { type: "submit", class: "primary" }, t("bench.run"))),
    el("label", { class: "check" }, both, t("bench.both")), sides);
}

function sideForm(side, place) {
  const { t } = view;
  const check = (label, checked, change) => {
    const input = el("input", { type: "checkbox", checked, onchange: () => change(input.checked) });
    return el("label", { class: "check" }, input, label);
  };
  const channel = (name) => check(t(`found.channel_${name}`), side.channels.includes(name), (on) => {
    side.channels = CHANNELS.filter((other) => (other === name ? on : side.channels.includes(other)));
  });
  const k = el("input", { type: "number", min: "1", max: "100", value: side.top_k, "aria-label": t("bench.k"), onchange: () => { side.top_k = Number(k.value) || 10; } });
  return el("fieldset", {}, el("legend", {}, t("bench.side", { name: letter(place) })), CHANNELS.map(channel),
    SWITCHES.map((name) => check(t(`bench.${name}`), side[name], (on) => { side[name] = on; })), el("label", { class: "check" }, t("bench.k"), k));
}

const letter = (place) => "AB"[place];

/** What a side asks for: all channels leave the choice to the router. */
function asked(side) {
  const all = side.channels.length === CHANNELS.length;
  return { query: kept.question, top_k: side.top_k, enable_rerank: side.rerank, enable_router: side.router, channels: all ? null : side.channels };
}

async function run() {
  const mine = view, { api, t, results } = mine;
  mine.running?.abort();
  const abort = new AbortController();
  mine.running = abort;
  const sides = kept.sides.slice(0, kept.both ? 2 : 1);
  if (sides.some((side) => !side.channels.length)) return void fill(results, el("p", { class: "problem", role: "alert" }, t("bench.no_channel")));
  fill(results, el("p", { class: "muted" }, t("bench.running")));
  try {
    const found = [];  // one after the other, so that neither takes time from the other
    for (const side of sides) found.push(await api.post("/api/v1/retrieval/bench", asked(side), { signal: abort.signal }));
    if (view !== mine || abort.signal.aborted) return;
    fill(results, files(found, t), el("div", { class: `bench-columns of-${found.length}` }, found.map((one, place) => column(one, place, found[1 - place], t))));
    announce(t("bench.done"));
  } catch (error) {
    if (error.name !== "AbortError") fill(results, el("p", { class: "problem", role: "alert" }, error.message));
  }
}

/** The files by the rank of their best passage, on either side. */
function files(found, t) {
  const ranks = found.map((one) => {
    const best = new Map();
    one.candidates.forEach((note) => { if (!best.has(note.document_id)) best.set(note.document_id, best.size + 1); });
    return best;
  });
  const names = [...new Set(ranks.flatMap((best) => [...best.keys()]))];
  const cell = (rank) => el("td", { class: "number" }, rank ? el("span", { class: rank <= 3 ? "rank best" : "rank" }, rank) : "–");
  return el("section", { class: "card" }, el("h2", {}, t("bench.files")), el("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": t("bench.files") },
    el("table", {}, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, t("bench.file")), found.map((_, place) => el("th", { scope: "col", class: "number" }, letter(place))))),
      el("tbody", {}, names.map((name) => el("tr", {}, el("th", { scope: "row", class: "note-name" },
        el("a", { href: `#/documents/${encodeURIComponent(name)}` }, name)), ranks.map((best) => cell(best.get(name)))))))));
}

function column(found, place, other, t) {
  const route = [found.route?.path, ...(found.route?.reasons ?? [])].filter(Boolean).join(" · ");
  const times = found.stages.map((stage) => el("tr", {}, el("th", { scope: "row" }, t(`found.node_${stage.stage}`)), el("td", { class: "number" }, duration(stage.elapsed_ms))));
  return el("section", { class: "card", "aria-label": t("bench.side", { name: letter(place) }) },
    el("h2", {}, t("bench.side", { name: letter(place) }), " ", el("span", { class: "chip" }, duration(found.elapsed_ms))),
    el("p", { class: "muted small" }, found.query === kept.question ? null : `${t("ask.understood_as")} ${found.query} · `, route, " · ", el("a", { href: `#/found/${found.request_id}` }, t("ask.how"))),
    found.degradations.length > 0 && el("ul", { class: "plain notice" }, found.degradations.map((one) => el("li", {}, `${one.stage}: ${one.reason}`))),
    found.candidates.length ? el("ol", { class: "bench-notes" }, found.candidates.map((note, rank) => passage(note, rank + 1, other, t))) : el("p", { class: "muted" }, t("bench.nothing")),
    el("details", {}, el("summary", {}, t("found.times")), el("table", {}, el("tbody", {}, times))));
}

function passage(note, rank, other, t) {
  const scores = CHANNELS.filter((name) => note.channels[name]).map((name) =>
    el("span", { class: "chip" }, t("bench.in_channel", { name: t(`found.channel_${name}`), rank: note.channels[name].rank, score: note.channels[name].score.toPrecision(3) })));
  const place = other ? other.candidates.findIndex((one) => one.note_id === note.note_id) + 1 : 0;
  const moved = other && place !== rank && el("span", { class: "chip sure-unsure" }, place ? t("bench.elsewhere", { rank: place }) : t("bench.only_here"));
  const characters = Array.from(note.text);
  return el("li", {}, el("div", { class: "row" }, el("strong", {}, note.title || note.document_id), el("span", { class: "chip sure-likely" }, note.final_score.toFixed(3)), moved),
    el("div", { class: "muted small" }, [note.document_id, ...note.section].join(" › ")), el("div", { class: "row small" }, scores,
      el("span", { class: "muted" }, t("bench.fused", { rank: note.fused_rank, score: note.fused_score.toPrecision(3) }))),
    characters.length > LONGEST ? el("details", {}, el("summary", { class: "bench-text" }, `${characters.slice(0, LONGEST).join("")}…`), el("div", { class: "bench-text" }, characters.slice(LONGEST).join("")))
      : el("div", { class: "bench-text" }, note.text));
}
