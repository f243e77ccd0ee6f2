// Quality: live traffic in figures, what went wrong and what users said; evaluations on question sets.
//
// #/quality/replay/ID runs a request again or differently, #/quality/job/ID follows an evaluation.

import { el, fill } from "../dom.js";
import { evaluations, showJob } from "./quality/evaluation.js";
import { feedback, live } from "./quality/live.js";
import { quietly } from "./quality/parts.js";
import { chooseRequest, showReplay } from "./quality/replay.js";

export const stylesheet = "views/quality.css";
let leave = null;

export async function mount(element, api, t, [what, id]) {
  leave?.abort();
  leave = new AbortController();  // what is under way for this visit ends with it
  const page = { api, t, signal: leave.signal };
  const heading = el("h1", {}, t("quality.title"));
  if (what === "replay" || what === "job") {
    const place = el("div", {});
    fill(element, heading, el("p", {}, el("a", { href: "#/quality" }, t("quality.back"))), place);
    await quietly(what === "replay" ? showReplay(page, place, id ?? "") : showJob(page, place, id ?? ""), place);
    return;
  }
  const places = [live, feedback, chooseRequest, evaluations].map((draw) => ({ draw, place: el("div", {}) }));
  fill(element, heading, ...places.map(({ place }) => place));
  await Promise.all(places.map(({ draw, place }) => quietly(draw(page, place), place)));
}

export function unmount() {
  leave?.abort();
  leave = null;
}
