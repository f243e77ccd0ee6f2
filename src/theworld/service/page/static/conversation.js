// Threads of questions and answers, kept in this tab; asking goes on while another view is shown.

import { asked } from "./scope.js";

const KEPT_TURNS = 30;
const KEPT_CHARACTERS = 8000;
const LIVE_KEYS = ["request_id", "elapsed_ms", "answer", "said", "answer_html", "kind", "confidence", "citations", "language",
  "query", "reference", "clarification", "degradations", "stages", "usage", "tables"];

export const changed = new EventTarget();
let store = { tenant: null, threads: [], chosen: "" };
let running = null;

/** Take up the threads of a tenant. */
export function openThreads(tenant) {
  if (store.tenant === tenant) return store;
  let threads = [];
  try {
    threads = JSON.parse(sessionStorage.getItem(`theworld.threads.${tenant}`) || "[]");
  } catch { /* what cannot be read is begun anew */ }
  for (const turn of threads.flatMap((thread) => thread.turns)) if (turn.state === "running") turn.state = "stopped";
  store = { tenant, threads, chosen: "" };
  if (threads.length) store.chosen = threads[0].id;
  else newThread();
  return store;
}

export function newThread() {
  const thread = { id: crypto.randomUUID(), title: "", turns: [], scope: { filters: {}, documents: [] } };
  store.threads.unshift(thread);
  choose(thread.id);
  return thread;
}

export function choose(id) {
  store.chosen = id;
  notify();
}

export function removeThread(id) {
  if (running?.thread.id === id) stop();
  store.threads = store.threads.filter((thread) => thread.id !== id);
  if (!store.threads.length) newThread();
  else if (store.chosen === id) choose(store.threads[0].id);
  else notify();
}

export function chosenThread() {
  return store.threads.find((thread) => thread.id === store.chosen) ?? store.threads[0];
}

/** The turn that is being answered, or null. */
export function runningTurn() {
  return running?.turn ?? null;
}

export function latestTurn() {
  return running?.turn ?? chosenThread()?.turns.at(-1) ?? null;
}

/** Break the answer off; the server notices and frees the place. */
export function stop() {
  running?.abort.abort();
}

/** Ask in the chosen thread; a choice answers what was asked back in its last turn. */
export async function ask(api, question, choice = null) {
  if (running) return;
  const thread = chosenThread();
  const history = historyOf(thread);
  if (choice !== null) thread.turns.pop();
  const turn = { question, state: "running", stages: [], text: "", choice };
  thread.title ||= question.slice(0, 80);
  thread.turns.push(turn);
  running = { thread, turn, abort: new AbortController() };
  notify();
  const body = { question, history, html: true, clarify: true, ...asked(thread.scope) };
  if (choice !== null) body.choice = choice;
  try {
    await api.stream("/api/v1/ask", body, { signal: running.abort.signal, on: (kind, data) => take(turn, kind, data) });
    if (turn.state === "running") turn.state = "broken";
  } catch (error) {
    turn.state = error.name === "AbortError" ? "stopped" : "failed";
    turn.error = error.message;
  } finally {
    running = null;
    notify();
  }
}

function take(turn, kind, data) {
  if (kind === "stage") turn.stages.push(data);
  else if (kind === "token") turn.text += data.text;
  else if (kind === "restart") turn.text = "";
  else if (kind === "final") finish(turn, data.data);
  else if (kind === "error") Object.assign(turn, { state: "failed", error: data.message });
  notify();
}

function finish(turn, data) {
  for (const key of LIVE_KEYS) turn[key] = data[key];
  turn.sureness = data.result?.sureness ?? "none";
  turn.asked = data.route.path !== "none";  // small talk is neither answered nor left without an answer
  turn.marks = Object.fromEntries((data.result?.passages ?? []).map((passage) => [passage.number, passage]));
  turn.nearest = data.kind === "none" ? data.candidates.slice(0, 3).map(asCitation) : [];
  turn.state = "done";
}

function asCitation(note, place) {
  return {
    number: place + 1, document_id: note.document_id, title: note.title, section: note.section, start: note.start,
    end: note.end, quote: note.text, place: [note.title || note.document_id, ...note.section].join(" › "),
  };
}

function historyOf(thread) {
  const answered = thread.turns.filter((turn) => turn.state === "done" && turn.kind !== "clarify").slice(-KEPT_TURNS);
  return answered.flatMap((turn) => [
    { role: "user", content: turn.question },
    { role: "assistant", content: turn.said.slice(0, KEPT_CHARACTERS) },
  ]);
}

/** Tell the views, and keep the threads. */
export function notify() {
  try {
    sessionStorage.setItem(`theworld.threads.${store.tenant}`, JSON.stringify(store.threads));
  } catch { /* full: this tab goes on without keeping them */ }
  changed.dispatchEvent(new Event("change"));
}
