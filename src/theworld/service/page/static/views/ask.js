// Ask
import { el } from "../dom.js";

export function mount(element, api, t) {
  element.append(el("h1", {}, t("ask.title")));
}
