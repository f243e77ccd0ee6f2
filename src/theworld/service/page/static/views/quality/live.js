// Live traffic: online metrics, failures in groups, and feedback.

import { duration, el, fill } from "../../dom.js";
import { card, growing, quietly, requestLinks, share, table, when } from "./parts.js";

const PERIODS = [1, 24, 168, 720, 87600];
const SHARES = ["answer_success", "tool_success", "clarify_rate", "recovery_rate"];
let hours = 24;

/** Draw metrics and failures of a period that can be chosen. */
export async function live(page, place) {
  const { t } = page;
  const figures = el("div", { "aria-live": "polite" }), failures = el("div", {});
  const choose = el("select", { "aria-label": t("quality.period"), onchange: (event) => { hours = Number(event.target.value); quietly(draw(page, figures, failures), figures); } },
    PERIODS.map((value) => el("option", { value, selected: value === hours }, t(`quality.hours_${value}`))));
  fill(place, card(t("quality.live"), el("label", { class: "row period" }, t("quality.period"), choose), figures), card(t("quality.failures"), failures));
  await draw(page, figures, failures);
}

async function draw({ api, t, signal }, figures, failures) {
  const asked = hours, get = (path) => api.get(path, { hours: asked }, { signal });
  const metrics = await get("/api/v1/metrics/online");
  if (asked !== hours) return;
  fill(figures, metrics.requests ? [tiles(metrics, t), routes(metrics.routes, t)] : el("p", { class: "muted" }, t("quality.nothing")));
  const groups = await get("/api/v1/metrics/failures");
  if (asked !== hours) return;
  fill(failures, groups.groups.length
    ? [el("p", {}, t("quality.failures_of", { failed: groups.failed, n: groups.requests })), groups.groups.map((group) => groupOf(group, t)), el("p", { class: "muted small" }, t("quality.failures_why"))]
    : el("p", { class: "muted" }, t("quality.no_failures")));
}

function tiles(metrics, t) {
  const times = metrics.latency_ms;
  const shown = [["requests", metrics.requests], ["judged", metrics.judged], ...SHARES.map((name) => [name, share(metrics[name])]),
    ["latency_ms", [times.p50, times.p95, times.p99].map(duration).join(" · ")]];
  return el("dl", { class: "tiles" }, shown.map(([name, value]) => el("div", {}, el("dt", {}, t(`quality.${name}`)), el("dd", {}, value))));
}

function routes(found, t) {
  const rows = Object.entries(found).map(([path, { successes, attempts }]) =>
    [path, { number: `${successes} / ${attempts}` }, { number: share(successes / attempts) }]);
  const heads = [[t("quality.route")], [t("quality.right"), "number"], [t("quality.answer_success"), "number"]];
  return rows.length > 0 && table(t("quality.routes"), heads, rows);
}

function groupOf({ cause, where, count, examples }, t) {
  const stage = t.has(`found.node_${where}`) ? t(`found.node_${where}`) : where;
  return el("details", { class: "group" }, el("summary", {}, el("strong", {}, count), ` ${t(`quality.cause_${cause}`, { where: stage })}`),
    el("ul", { class: "examples" }, examples.map((one) => el("li", {}, el("span", { class: "asked-text" }, one.question), " ",
      el("span", { class: "muted small" }, when(one.created_ms, t)), " ", requestLinks(one.request_id, t)))));
}

/** Draw what users said of answers, page by page. */
export async function feedback({ api, t, signal }, place) {
  const list = el("div", {});
  fill(place, card(t("quality.feedback"), list));
  const load = async (after) => {
    const page = await api.get("/api/v1/feedback", { after, limit: 20 }, { signal });
    return { items: page.feedback, total: page.total, nextAfter: page.next_after };
  };
  const heads = ["question", "verdict", "said", "time"].map((key) => [t(`quality.${key}`)]);
  await growing(list, load, (items) => (items.length ? table(t("quality.feedback"), heads, items.map((one) => judgement(one, t))) : el("p", { class: "muted" }, t("quality.no_feedback"))), t("quality.more"));
}

function judgement(one, t) {
  const said = [one.comment, one.answers.join(" / "), one.documents.join(", ")].filter(Boolean).join(" · ");
  return [el("span", {}, one.question ?? t("quality.gone"), el("br", {}), one.question !== null && requestLinks(one.request_id, t)),
    el("span", { class: `chip verdict-${one.verdict}` }, t(`quality.${one.verdict}`)), said, when(one.created_ms, t)];
}
