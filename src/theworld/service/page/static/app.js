// The shell of the page: navigation, sign-in, language, light and dark, and one view at a time.
//
// To add a view NAME:
//   1. views/NAME.js exports
//        mount(element, api, t, args)   fills an empty element; args: what follows #/NAME/ in the address, decoded.
//                                       May be async. Throw an ApiError and the shell shows it as readable text.
//        unmount()                      optional: aborts what runs, removes listeners outside the element.
//        stylesheet                     optional: "views/NAME.css", or a list of such, loaded before mount; it holds
//                                       as long as the view is shown, so its class names are its own.
//   2. data/messages/NAME.yaml holds its words, `key: {en: "...", zh: "..."}`; t("NAME.key", {n: 3}) fills "{n}".
//      `title` is shown in the navigation. A language switch mounts the view again.
//   3. NAME joins VIEWS below.
// Build elements with el() of dom.js, which never reads a text as HTML. Go elsewhere by location.hash = "#/found/ID".

import { Api, ApiError } from "./api.js";
import { announce, el, fill } from "./dom.js";
import { chosenLanguage, loadWords } from "./words.js";

const VIEWS = ["ask", "documents", "found", "bench", "graph", "quality"];
const byId = (id) => document.getElementById(id);
const api = new Api(askForKey);
let t = (key) => key;
let mounted = null;
let visit = 0;

async function start() {
  applyTheme(localStorage.getItem("theworld.theme") || "auto");
  await speak(chosenLanguage());
  addEventListener("hashchange", show);
  await show();
}

async function speak(language) {
  t = await loadWords(language);
  api.language = language;
  localStorage.setItem("theworld.language", language);
  document.documentElement.lang = language === "zh" ? "zh-Hans" : "en";
  byId("skip").textContent = t("shell.skip");
  drawTools();
}

async function show() {
  const [, name = "", ...rest] = location.hash.split("/");
  const view = VIEWS.includes(name) ? name : VIEWS[0];
  const mine = ++visit;
  drawNavigation(view);
  try {
    const module = await import(`./views/${view}.js`);
    const wanted = [module.stylesheet ?? []].flat();
    await Promise.all(wanted.map(loadStyle));
    if (mine !== visit) return;
    mounted?.unmount?.();
    useStyles(wanted);
    mounted = module;
    const place = el("div", { class: `view view-${view}` });
    byId("view").replaceChildren(place);
    await module.mount(place, api, t, rest.map(decodeURIComponent));
  } catch (error) {
    if (mine === visit) showError(error);
  }
}

function showError(error) {
  if (error instanceof ApiError && error.needsKey) return;
  byId("view").append(el("p", { class: "problem", role: "alert" }, error.message));
}

function drawNavigation(view) {
  document.title = `${t(`${view}.title`)} · TheWorld`;
  const link = (name) =>
    el("a", { href: `#/${name}`, title: t(`${name}.hint`), "aria-current": name === view ? "page" : null }, t(`${name}.title`));
  const nav = byId("nav");
  nav.setAttribute("aria-label", t("shell.navigation"));
  nav.replaceChildren(...VIEWS.map(link));
  nav.querySelector("[aria-current]").scrollIntoView({ block: "nearest", inline: "nearest" });
}

function drawTools() {
  const other = api.language === "zh" ? "en" : "zh";
  const change = async () => {
    await speak(other);
    await show();
    byId("tools").querySelector("[data-tool=language]").focus();
  };
  const theme = localStorage.getItem("theworld.theme") || "auto";
  fill(
    byId("tools"),
    el("label", { class: "tool-select" }, el("span", { class: "unseen" }, t("shell.theme")), themeChoice(theme)),
    el("button", { type: "button", class: "quiet", "data-tool": "language", lang: other, onclick: change },
      other === "zh" ? "中文" : "English"),
    el("button", { type: "button", class: "quiet", "data-tool": "account", title: account() === "shell.account" ? null : t("shell.tenant_help").replaceAll("`", ""), onclick: () => askForKey() },
      api.tenant ? `${t(account())}: ${api.tenant}` : t(account())),
  );
}

function account() {  // on the machine itself no key is needed: only whose documents are asked can be chosen
  return api.needsKey || api.key ? "shell.account" : "shell.tenant_only";
}

function themeChoice(theme) {
  const options = ["auto", "light", "dark"].map((name) =>
    el("option", { value: name, selected: name === theme }, t(`shell.theme_${name}`)));
  return el("select", { onchange: (event) => applyTheme(event.target.value) }, ...options);
}

function applyTheme(theme) {
  localStorage.setItem("theworld.theme", theme);
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

function askForKey(reason = "") {
  const dialog = byId("signin");
  if (reason) {
    api.needsKey = true;
    drawTools();
  }
  if (dialog.open) return;
  const withKey = account() === "shell.account";
  const key = el("input", { type: "password", id: "key", value: api.key, autocomplete: "off", spellcheck: "false" });
  const tenant = el("input", { type: "text", id: "tenant", value: api.tenant, autocomplete: "off", maxlength: "128" });
  const enter = (event) => {
    event.preventDefault();
    dialog.close();
    api.signIn(key.value.trim(), tenant.value.trim());
    drawTools();
    show();
  };
  fill(
    dialog,
    el("form", { onsubmit: enter, "aria-labelledby": "signin-title" },
      el("h2", { id: "signin-title" }, t(account())),
      reason && el("p", { class: "problem", role: "alert" }, reason),
      el("p", { class: "muted" }, ...t(withKey ? "shell.signin_help" : "shell.tenant_help").split("`").map((part, place) => (place % 2 ? el("code", {}, part) : part))),
      withKey && [el("label", { for: "key" }, t("shell.key")), key],
      el("label", { for: "tenant" }, t(withKey ? "shell.tenant" : "shell.tenant_only")), tenant,
      el("p", { class: "actions" },
        el("button", { type: "submit", class: "primary" }, t("shell.enter")),
        el("button", { type: "button", onclick: () => dialog.close() }, t("shell.cancel")),
        api.key && el("button", { type: "button", onclick: () => { api.signIn("", ""); dialog.close(); drawTools(); show(); } },
          t("shell.signout")))),
  );
  dialog.showModal();
  announce(t(account()));
}

const loaded = new Map();
function loadStyle(path) {
  if (!loaded.has(path)) {
    const link = el("link", { rel: "stylesheet", href: `/page/${path}` });
    const ready = new Promise((done) => {
      link.onload = () => { link.sheet.disabled = true; done(); };  // used when its view is shown
      link.onerror = done;
    });
    loaded.set(path, { link, ready });
    document.head.append(link);
  }
  return loaded.get(path).ready;
}

// Only the sheets of the view that is shown hold: a class name of one view may be another thing in the next.
function useStyles(wanted) {
  for (const [path, { link }] of loaded) if (link.sheet) link.sheet.disabled = !wanted.includes(path);
}

byId("skip").addEventListener("click", (event) => {  // the fragment belongs to the router
  event.preventDefault();
  byId("view").focus();
});
start();
