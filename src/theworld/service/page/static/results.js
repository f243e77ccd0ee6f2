// How an answer's outcome is told, wherever it is shown: how sure it is, and the rows of a database.

import { el } from "./dom.js";

/** Whether a word says how sure an answer is; that of rows, of a model and of the conversation has a confidence only. */
export const isWeighed = (answer) => answer.kind === "none" || (answer.sureness ?? "none") !== "none";

export function sureness(answer, t) {
  return isWeighed(answer) ? t(`ask.sure_${answer.sureness}`) : t("ask.confidence", { n: answer.confidence.toFixed(2) });
}

/** Rows of a database as a table that scrolls, its figures as a person reads them. */
export function resultTable(table, t) {
  const read = (value, column) => {
    if (value === null) return "–";
    if (typeof value !== "number" || (Number.isInteger(value) && !column.unit)) return String(value);  // a year is no figure
    return value.toLocaleString(t.language, { maximumFractionDigits: 2 });
  };
  const numeric = table.columns.map((_, place) => table.rows.some((row) => typeof row[place] === "number"));
  const head = ({ label, unit }, place) => el("th", { scope: "col", class: numeric[place] && "number" }, unit ? `${label} (${unit})` : label);
  const cell = (value, place) => el("td", { class: numeric[place] && "number" }, read(value, table.columns[place]));
  return [
    el("div", { class: "scroll rows", tabindex: "0", role: "group", "aria-label": table.title }, el("table", {},
      el("thead", {}, el("tr", {}, table.columns.map(head))), el("tbody", {}, table.rows.map((row) => el("tr", {}, row.map(cell)))))),
    table.truncated && el("p", { class: "muted small" }, t("found.rows_kept", { n: table.rows.length })),
  ];
}

/** The statement that read a table. */
export function statement(table) {
  return el("pre", { tabindex: "0" }, el("code", {}, table.sql));
}
