// Documents
import { el } from "../dom.js";

export function mount(element, api, t) {
  element.append(el("h1", {}, t("documents.title")));
}
