// One evaluation: how far it is, then its metrics, the paired comparison and the failure reports.

import { announce, duration, el, fill, setCleaned } from "../../dom.js";
import { card, statusLine, submitting, table, when } from "./parts.js";

const EVERY_MS = 1000;
const SHARES = ["answer_success", "tool_success", "clarify_rate", "recovery_rate"];
const SKIPPED = new Set(["counted", "strata", "latency_ms"]);

/** Follow a job until it is over, then draw what it found. */
export async function showJob(page, place, id) {
  const { api, t, signal } = page;
  const path = `/api/v1/eval/jobs/${encodeURIComponent(id)}`;
  const heading = el("h2", { tabindex: "-1" }, t("quality.jobs")), state = el("p", {}), bar = el("progress", { "aria-label": t("quality.status") }), status = statusLine();
  const cancel = el("button", { type: "button", onclick: submitting(status, async () => draw(await api.send("DELETE", path, undefined, { signal }))) }, t("quality.cancel"));
  const found = el("div", {});
  const draw = (job) => {
    const over = !["queued", "running"].includes(job.status);
    fill(heading, job.strategies.join(" · "));
    fill(state, `${t(`quality.status_${job.status}`, { why: job.error })} · ${t("quality.progress", { done: job.done, total: job.total })} · `, when(job.created_ms, t));
    Object.assign(bar, { max: Math.max(job.total, 1), value: job.done });
    bar.hidden = cancel.hidden = over;
    return over;
  };
  fill(place, el("section", { class: "card", "aria-label": t("quality.jobs") }, heading, state, bar, el("p", {}, cancel), status), found);
  heading.focus({ preventScroll: true });
  let job = await api.get(path, {}, { signal });
  while (!draw(job)) {
    await pause(signal);
    job = await api.get(path, {}, { signal });
  }
  announce(t(`quality.status_${job.status}`, { why: job.error }));
  if (Object.keys(job.results).length) fill(found, card(t("quality.results"), metrics(job.results, t)), job.comparison && comparison(job.comparison, t));
  for (const name of Object.keys(job.failures ?? {})) found.append(await report(page, path, name));
}

function pause(signal) {
  return new Promise((done, stopped) => {
    const timer = setTimeout(done, EVERY_MS);
    signal.addEventListener("abort", () => { clearTimeout(timer); stopped(signal.reason); }, { once: true });
  });
}

function metrics(results, t) {
  const names = Object.keys(results);
  const keys = [...new Set(names.flatMap((name) => Object.keys(results[name])))].filter((key) => !SKIPPED.has(key));
  const rows = keys.map((key) => [named(key, t), ...names.map((name) => ({ number: value(key, results[name][key]) }))]);
  const times = ["p50", "p95", "p99"].map((p) => [`${t("quality.time_of")} ${p}`, ...names.map((name) => ({ number: duration(results[name].latency_ms?.[p]) }))]);
  return [table(t("quality.results"), [[t("quality.metric")], ...names.map((name) => [name, "number"])], [...rows, ...times]), ...["type", "intent"].map((kind) => strata(results, kind, t))];
}

/** The same by the set's own labels, or by intent: questions, and the share of right answers. */
function strata(results, kind, t) {
  const names = Object.keys(results), labels = [...new Set(names.flatMap((name) => Object.keys(results[name].strata?.[kind] ?? {})))];
  if (labels.length < 2) return null;
  const right = (name, label) => ({ number: value("answer_success", results[name].strata[kind]?.[label]?.answer_success) });
  const rows = labels.map((label) => [label, { number: results[names[0]].strata[kind]?.[label]?.n ?? "–" }, ...names.map((name) => right(name, label))]);
  const title = t(`quality.by_${kind}`);
  return [el("h3", {}, title), table(title, [[title], [t("quality.n"), "number"], ...names.map((name) => [`${name}: ${t("quality.metric_answer_success")}`, "number"])], rows)];
}

const named = (key, t) => (t.has(`quality.metric_${key}`) ? t(`quality.metric_${key}`) : key);
function value(key, number) {
  if (number === null || number === undefined) return "–";
  if (SHARES.includes(key)) return `${(100 * number).toFixed(1)} %`;
  return Number.isInteger(number) && (key === "n" || key === "judged") ? number : number.toFixed(3);
}

function comparison(found, t) {
  const title = t("quality.comparison", { first: found.first, second: found.second });
  const verdict = ({ low, high }) => (low === null ? "open" : low > 0 ? "better" : high < 0 ? "worse" : "open");
  const signed = (number) => `${number > 0 ? "+" : ""}${number.toFixed(3)}`;
  const heads = [[t("quality.metric")], [t("quality.difference"), "number"], [t("quality.interval"), "number"], [t("quality.p_value"), "number"], [t("quality.n"), "number"], [found.second]];
  const rows = Object.entries(found.metrics).map(([key, one]) => [named(key, t), { number: signed(one.difference) }, { number: one.low === null ? "–" : `${signed(one.low)} … ${signed(one.high)}` },
    { number: one.p_value === null ? "–" : one.p_value.toFixed(3) }, { number: one.n }, el("span", { class: `gain-${verdict(one)}` }, t(`quality.verdict_${verdict(one)}`))]);
  return card(title, table(title, heads, rows));
}

async function report({ api, t, signal }, path, name) {
  const get = (format) => api.get(`${path}/report`, { strategy: name, format, language: t.language }, { signal });
  const status = statusLine(), title = t("quality.report", { name });
  const save = submitting(status, async () => {
    const url = URL.createObjectURL(new Blob([(await get("html")).report], { type: "text/html" }));
    el("a", { href: url, download: `failures-${name}.html` }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  });
  return card(title, setCleaned(el("div", { class: "report" }), (await get("fragment")).report),
    el("p", {}, el("button", { type: "button", onclick: save }, t("quality.save_report"))), status);
}
