// The choices of a strategy as a form: what is left alone stays as the service has it.

import { el } from "../../dom.js";
import { field, numberField, numberIn, tick } from "./parts.js";

const CHANNELS = ["sparse", "dense", "graph", "ontology"];

/** Make the form's part; read() gives the strategy as the API takes it, or throws what is wrong in words. */
export function strategyFields(t, name) {
  const named = el("input", { type: "text", value: name, maxlength: 64, required: true, pattern: "[A-Za-z0-9_.\\-]{1,64}" });
  const routed = el("input", { type: "checkbox", checked: true, onchange: () => channels.forEach((one) => { one.disabled = routed.checked; }) });
  const channels = CHANNELS.map((channel) => el("input", { type: "checkbox", value: channel, checked: true, disabled: true }));
  const rerank = el("select", {}, [["", "as_usual"], ["true", "turned_on"], ["false", "turned_off"]].map(([value, word]) => el("option", { value }, t(`quality.${word}`))));
  const topK = numberField({ max: 1000 });
  const settings = el("textarea", { rows: 2, maxlength: 10000, spellcheck: "false", placeholder: '{"retrieval": {"per_channel": 200}}' });
  const node = el("fieldset", {}, el("legend", {}, t("quality.strategy")), field(t("quality.strategy_name"), named),
    el("div", { class: "field", role: "group", "aria-label": t("quality.channels") }, el("span", { class: "muted" }, t("quality.channels")), " ", tick(t("quality.by_router"), routed),
      channels.map((one) => tick(t(`found.channel_${one.value}`), one))),
    field(t("quality.rerank"), rerank), field(t("quality.top_k"), topK), field(t("quality.settings"), settings));
  const read = () => {
    const strategy = { name: named.value.trim() };
    if (!routed.checked) strategy.channels = channels.filter((one) => one.checked).map((one) => one.value);
    if (rerank.value) strategy.rerank = rerank.value === "true";
    if (numberIn(topK) !== null) strategy.top_k = numberIn(topK);
    if (settings.value.trim()) strategy.settings = parsed(settings.value, t);
    return strategy;
  };
  return { node, read };
}

function parsed(text, t) {
  try {
    const value = JSON.parse(text);
    if (value && typeof value === "object" && !Array.isArray(value)) return value;
    throw new SyntaxError(text.trim().slice(0, 40));
  } catch (error) {
    throw new Error(t("quality.settings_wrong", { why: error.message }));
  }
}
