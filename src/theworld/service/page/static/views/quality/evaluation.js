// Evaluations: question sets, uploaded or from logs, and jobs of one or two strategies on them.

import { el, fill } from "../../dom.js";
import { card, field, growing, numberField, numberIn, statusLine, submitting, table, showStatus, tick, when } from "./parts.js";
import { questionsOf } from "./questions.js";
import { strategyFields } from "./strategy.js";

export { showJob } from "./job.js";
const SETS = "/api/v1/eval/datasets", JOBS = "/api/v1/eval/jobs";

/** Draw sets and jobs, each with what makes another. */
export async function evaluations(page, place) {
  const { t } = page;
  const sets = el("div", {}), jobs = el("div", {}), choice = el("select", { required: true });
  const refresh = () => Promise.all([drawSets(page, sets, choice), drawJobs(page, jobs)]);
  fill(place, card(t("quality.sets"), sets, upload(page, refresh), fromLogs(page, refresh)), card(t("quality.jobs"), jobs, startJob(page, choice)));
  await refresh();
}

async function drawSets({ api, t, signal }, place, choice) {
  const heads = [[t("quality.set_name")], [t("quality.questions"), "number"], [t("quality.source")], [t("quality.time")]];
  const load = async (after) => {
    const page = await api.get(SETS, { after, limit: 50 }, { signal });
    return { items: page.datasets, total: page.total, nextAfter: page.next_after };
  };
  const draw = (sets) => {
    const chosen = choice.value;
    fill(choice, sets.map((one) => el("option", { value: one.dataset_id, selected: one.dataset_id === chosen }, `${one.name} (${one.questions})`)));
    const source = (one) => t(one.provenance.made === "uploaded" ? "quality.uploaded" : "quality.logs");
    return sets.length ? table(t("quality.sets"), heads, sets.map((one) => [one.name, { number: one.questions }, source(one), when(one.created_ms, t)])) : el("p", { class: "muted" }, t("quality.no_sets"));
  };
  await growing(place, load, draw, t("quality.more"));
}

function upload(page, refresh) {
  const { t } = page;
  const name = el("input", { type: "text", maxlength: 200 }), file = el("input", { type: "file", accept: ".json,.jsonl" }), status = statusLine();
  const send = submitting(status, async () => {
    const [chosen] = file.files;
    if (!chosen) throw new Error(t("quality.no_file"));
    const found = questionsOf(chosen.name, await chosen.text(), t);
    await make(page, { name: name.value.trim() || found.name || chosen.name, queries: found.queries }, status, refresh);
    file.value = "";
  });
  return el("details", {}, el("summary", {}, t("quality.upload")), el("p", { class: "muted small" }, t("quality.upload_more")),
    el("form", { class: "fields", onsubmit: send }, field(t("quality.file"), file), field(t("quality.set_name"), name), el("button", { type: "submit" }, t("quality.upload_do"))), status);
}

function fromLogs(page, refresh) {
  const { t } = page;
  const name = el("input", { type: "text", maxlength: 200, required: true }), days = numberField({ value: 30, max: 3650, required: true }), size = numberField({ max: 100000 });
  const status = statusLine();
  const send = submitting(status, () => make(page, { name: name.value.trim(), from_logs: { hours: 24 * numberIn(days), size: numberIn(size) } }, status, refresh));
  return el("details", {}, el("summary", {}, t("quality.from_logs")), el("p", { class: "muted small" }, t("quality.from_logs_more")),
    el("form", { class: "fields", onsubmit: send }, field(t("quality.set_name"), name), field(t("quality.days"), days), field(t("quality.most"), size), el("button", { type: "submit" }, t("quality.make"))), status);
}

async function make({ api, t, signal }, body, status, refresh) {
  const made = await api.post(SETS, body, { signal });
  await refresh();
  showStatus(status, t("quality.set_made", { name: body.name, n: made.questions }));
}

async function drawJobs({ api, t, signal }, place) {
  const heads = [[t("quality.strategy")], [t("quality.status")], [t("quality.time")]];
  const load = async (after) => {
    const page = await api.get(JOBS, { after, limit: 20 }, { signal });
    return { items: page.jobs, total: page.total, nextAfter: page.next_after };
  };
  const row = (job) => [el("a", { href: `#/quality/job/${job.job_id}` }, job.strategies.join(" · ")), t(`quality.status_${job.status}`, { why: job.error }), when(job.created_ms, t)];
  await growing(place, load, (jobs) => (jobs.length ? table(t("quality.jobs"), heads, jobs.map(row)) : el("p", { class: "muted" }, t("quality.no_jobs"))), t("quality.more"));
}

function startJob({ api, t, signal }, choice) {
  const first = strategyFields(t, "A"), second = strategyFields(t, "B"), status = statusLine();
  const box = (change) => el("input", { type: "checkbox", onchange: change ?? (() => {}) });
  const two = box(() => { second.node.hidden = !two.checked; second.node.disabled = !two.checked; }), explain = box(), model = box();
  const limit = numberField();
  Object.assign(second.node, { hidden: true, disabled: true });
  const send = submitting(status, async () => {
    const strategies = [first.read(), ...(two.checked ? [second.read()] : [])];
    const body = { dataset_id: choice.value, strategies, limit: numberIn(limit), explain_failures: explain.checked, use_model: model.checked };
    const job = await api.post(JOBS, body, { signal });
    location.hash = `#/quality/job/${job.job_id}`;
  });
  return el("details", {}, el("summary", {}, t("quality.job_start")), el("form", { onsubmit: send },
    el("div", { class: "fields" }, field(t("quality.sets"), choice), field(t("quality.limit"), limit)), first.node,
    el("p", { class: "row" }, tick(t("quality.compare"), two), tick(t("quality.explain"), explain), tick(t("quality.use_model"), model)), second.node,
    el("p", { class: "actions" }, el("button", { type: "submit", class: "primary" }, t("quality.start")))), status);
}
