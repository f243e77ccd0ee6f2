// Documents: the tenant's documents, one of them whole, deleting, and uploads of files or a folder, one after the other.

import { announce, debounced, el, fill } from "../dom.js";

export const stylesheet = "views/documents.css";
const PAGE = 100;
let view = null;
const uploads = [];  // kept while the page is open: going elsewhere and back does not stop them
let sender = null;
let largest = { bytes: Infinity, text: "" };

export async function mount(element, api, t, args) {
  view = { element, api, t, args, found: [], after: "", total: 0, search: "", filters: [], opened: false };
  if (args.length) await drawDocument(args.join("/"));
  else await drawAll();
}

export function unmount() {
  view = null;
}

async function drawAll() {
  const { element, t } = view;
  const search = el("input", { type: "search", id: "search", placeholder: t("documents.search"), maxlength: "500",
    oninput: debounced(() => { if (view) { view.search = search.value.trim(); load(true); } }) });
  view.list = el("div", { class: "list", "aria-live": "polite" });
  view.queue = el("section", { "aria-label": t("documents.uploads") });
  view.store = el("section", { class: "store", "aria-label": t("documents.store") });
  fill(element, el("h1", { class: "unseen" }, t("documents.title")), dropArea(), view.queue, view.store,
    el("label", { for: "search", class: "unseen" }, t("documents.search")), search, filterForm(), view.list);
  drawQueue();
  await load(true);
}

/** Filters by metadata: each a chip that can be removed; one name given twice means any of its values. */
function filterForm() {
  const { t } = view;
  const input = (name) => el("input", { type: "text", id: `filter-${name}`, list: `filter-${name}s`, autocomplete: "off", onfocus: suggest, "aria-label": t(`documents.filter_${name}`), placeholder: t(`documents.filter_${name}`), maxlength: "200" });
  const names = el("datalist", { id: "filter-names" }), values = el("datalist", { id: "filter-values" });
  const suggest = () => {  // out of the documents shown
    const seen = view.found.flatMap((one) => Object.entries(one.metadata));
    const options = (some) => [...new Set(some.map(String))].sort().slice(0, PAGE).map((text) => el("option", { value: text }));
    fill(names, options(seen.map(([key]) => key)));
    fill(values, options(seen.filter(([key]) => key === name.value.trim()).flatMap(([, kept]) => kept)));
  };
  const name = input("name"), value = input("value"), chips = el("ul", { class: "chips" });
  const change = (filters) => {
    view.filters = filters;
    fill(chips, filters.map((one) => el("li", { class: "chip" }, one.join(" = "), " ",
      el("button", { type: "button", class: "quiet", "aria-label": t("documents.filter_remove", { what: one.join(" = ") }),
        onclick: () => { change(view.filters.filter((other) => other !== one)); name.focus(); } }, "×"))));
    load(true);
  };
  const add = (event) => {
    event.preventDefault();
    if (!name.value.trim() || !value.value.trim()) return void (name.value.trim() ? value : name).focus();
    const given = [name.value.trim(), value.value.trim()];
    name.value = value.value = "";
    name.focus();
    if (!view.filters.some((one) => one.join("=") === given.join("="))) change([...view.filters, given]);
  };
  return el("form", { class: "filters", "aria-label": t("documents.filter"), onsubmit: add }, name, value,
    el("button", { type: "submit" }, t("documents.filter")), names, values, chips);
}

async function load(anew) {
  const mine = view;
  const { search, filters } = mine;
  const query = new URLSearchParams({ search, after: anew ? "" : mine.after, limit: PAGE });
  for (const [name, value] of filters) query.append("filter", `${name}=${value}`);
  const page = await mine.api.get(`/api/v1/documents?${query}`);
  if (mine !== view || !mine.list || mine.search !== search || mine.filters !== filters) return;
  const found = anew ? page.documents : [...mine.found, ...page.documents];
  Object.assign(mine, { found, after: page.next_after, total: page.total });
  drawList();
  await drawStore();
}

/** What is in the store, and the last writes in figures. */
async function drawStore() {
  const mine = view, { api, t } = view;
  const found = await api.get("/api/v1/store");
  if (mine !== view || !mine.store) return;
  largest = { bytes: found.most_bytes, text: t("documents.too_large", { mb: Math.floor(found.most_bytes / 1e6) }) };
  const notes = Object.entries(found.notes).map(([language, n]) => `${language} ${n}`).join(", ");
  const figures = ["written", "unchanged", "deleted", "notes", "failed"];
  const heads = ["what", "ended", "seconds", ...figures].map((name) =>
    el("th", { scope: "col", class: figures.includes(name) || name === "seconds" ? "number" : null }, t(`documents.run_${name}`)));
  const rows = found.writes.map((run) => el("tr", {}, el("td", {}, run.what), el("td", {}, new Date(run.ended).toLocaleTimeString(api.language)),
    el("td", { class: "number" }, run.seconds.toFixed(1)),
    figures.map((name) => el("td", { class: "number" }, name === "failed" ? run.failed.length : run[name]))));
  fill(mine.store, el("p", { class: "muted" }, t("documents.in_store", { documents: found.documents, notes: notes || "0" }),
    found.waiting > 0 && ` ${t("documents.in_queue", { n: found.waiting })}`),
    rows.length > 0 && el("details", { open: mine.opened }, el("summary", { onclick: () => { mine.opened = !mine.opened; } }, t("documents.runs", { n: rows.length })),
      el("div", { class: "scrolled", tabindex: "0", role: "region", "aria-label": t("documents.runs", { n: rows.length }) },
        el("table", {}, el("thead", {}, el("tr", {}, heads)), el("tbody", {}, rows)))));
}

function drawList() {
  const { t, found, total, after, search, filters, list } = view;
  if (!found.length) return void fill(list, el("p", { class: "muted" }, t(search || filters.length ? "documents.nothing" : "documents.none")));
  const heads = [["id", ""], ["notes", "number"], ["written", "wide"]].map(([name, kind]) =>
    el("th", { scope: "col", class: kind || null }, t(`documents.${name}`)));
  const last = el("th", { scope: "col" }, el("span", { class: "unseen" }, t("documents.remove")));
  fill(list, el("p", { class: "muted" }, t("documents.total", { n: total })),
    el("table", {}, el("thead", {}, el("tr", {}, heads, last)), el("tbody", {}, found.map(row))),
    after && el("button", { type: "button", onclick: () => load(false) }, t("documents.more")));
}

function row(found) {
  const { t, api } = view;
  const written = found.written_at ? new Date(found.written_at).toLocaleString(api.language) : "–";
  const open = el("a", { href: `#/documents/${encodeURIComponent(found.id)}`, "aria-label": t("documents.open", { id: found.id }) },
    found.title || found.id);
  return el("tr", {}, el("td", {}, open, el("div", { class: "muted small" }, found.id)),
    el("td", { class: "number" }, found.notes), el("td", { class: "wide" }, written),
    el("td", {}, el("button", { type: "button", class: "quiet", onclick: () => remove(found.id) }, t("documents.remove"))));
}

async function remove(id) {
  const { api, t } = view;
  if (!confirm(t("documents.remove_sure", { id }))) return;
  await api.send("DELETE", "/api/v1/documents", { ids: [id] });
  announce(t("documents.removed", { id }));
  if (view) await load(true);
}

async function drawDocument(id) {
  const { element, api, t } = view;
  const found = await api.get(`/api/v1/documents/${id.split("/").map(encodeURIComponent).join("/")}`);
  const facts = Object.entries(found.metadata).map(([key, value]) => `${key}: ${value}`).join(" · ");
  fill(element, el("p", {}, el("a", { href: "#/documents" }, `← ${t("documents.back")}`)),
    el("h1", {}, found.title || found.id), el("p", { class: "muted" }, [found.source, facts].filter(Boolean).join(" · ")),
    replacing(found.id), el("pre", { tabindex: "0" }, found.text));
}

/** Read a document anew from a file: it takes the place of what was made from the old one. */
function replacing(id) {
  const { t, api, element, args } = view;
  const said = el("span", { role: "status" });
  const file = el("input", { type: "file", hidden: true, "aria-label": t("documents.replace"), onchange: async () => {
    said.textContent = t("documents.sending");
    try {
      const told = await sendFile(api, id, file.files[0]);
      said.textContent = told.failed.map((one) => one.reason).join(" ");
      if (!said.textContent && view?.args === args) { fill(element); await drawDocument(id); }
      announce(said.textContent || t(told.written ? "documents.done" : "documents.unchanged", { n: told.notes }));
    } catch (error) {
      said.textContent = error.message;
    }
  } });
  return el("p", { class: "choices" }, el("button", { type: "button", onclick: () => file.click() }, t("documents.replace")), file, said);
}

/** Send one file; a larger one than the server takes is not sent, as the connection would break before its reply. */
async function sendFile(api, name, file) {
  if (file.size > largest.bytes) throw new Error(largest.text);
  return api.post(`/api/v1/documents/file?${new URLSearchParams({ name })}`, file, { headers: { "Content-Type": "application/octet-stream" } });
}

function dropArea() {
  const { t } = view;
  const chooser = (folder) => el("input", { type: "file", multiple: true, hidden: true, webkitdirectory: folder,
    "aria-label": t(folder ? "documents.folder" : "documents.files"),
    onchange: (event) => add([...event.target.files].map((file) => [file.webkitRelativePath || file.name, file])) });
  const files = chooser(false), folder = chooser(true);
  const area = el("section", { class: "drop", "aria-label": t("documents.drop"),
    ondragover: (event) => { event.preventDefault(); area.classList.add("over"); },
    ondragleave: () => area.classList.remove("over"),
    ondrop: async (event) => { event.preventDefault(); area.classList.remove("over"); add(await dropped(event.dataTransfer)); } },
    el("p", { class: "muted" }, t("documents.drop")),
    el("div", { class: "choices" },
      el("button", { type: "button", onclick: () => files.click() }, t("documents.files")),
      el("button", { type: "button", onclick: () => folder.click() }, t("documents.folder"))), files, folder);
  return area;
}

/** Return [path, file] of everything dropped, folders walked through. */
async function dropped(transfer) {
  const found = [];
  const walk = async (entry, prefix) => {
    const path = prefix + entry.name;
    if (entry.isFile) return void found.push([path, await new Promise((done, failed) => entry.file(done, failed))]);
    const reader = entry.createReader();
    for (;;) {
      const some = await new Promise((done, failed) => reader.readEntries(done, failed));
      if (!some.length) return;
      for (const child of some) await walk(child, `${path}/`);
    }
  };
  for (const entry of [...transfer.items].map((item) => item.webkitGetAsEntry()).filter(Boolean)) await walk(entry, "");
  return found;
}

/** Queue files, hidden ones left out. */
function add(files) {
  uploads.push(...files.filter(([path]) => !path.split("/").some((part) => part.startsWith(".")))
    .map(([path, file]) => ({ path, file, state: "waiting", reason: "", notes: 0 })));
  drawQueue();
  sender ??= sendAll(view.api).finally(() => { sender = null; });
}

async function sendAll(api) {
  for (let next; (next = uploads.find((one) => one.state === "waiting"));) {
    next.state = "sending";
    drawQueue();
    try {
      const told = await sendFile(api, next.path, next.file);
      const reason = told.failed.map((one) => one.reason).join(" ");
      Object.assign(next, { reason, notes: told.notes, state: reason ? "failed" : told.written ? "done" : "unchanged" });
    } catch (error) {
      Object.assign(next, { state: "failed", reason: error.message });
    }
    drawQueue();
  }
  if (view?.list) await load(true);
}

function drawQueue() {
  if (!view?.queue) return;
  const { t } = view;
  const count = (...states) => uploads.filter((one) => states.includes(one.state)).length;
  const change = (from, to) => { for (const one of uploads) if (one.state === from) Object.assign(one, { state: to, reason: "" }); };
  const failed = count("failed"), left = count("waiting");
  fill(view.queue, uploads.length > 0 && [
    el("p", { role: "status" }, t("documents.summary", { n: uploads.length, done: count("done", "unchanged"), failed })),
    el("progress", { max: uploads.length, value: uploads.length - left - count("sending"), "aria-label": t("documents.uploads") }),
    el("p", { class: "choices" },
      left > 0 && el("button", { type: "button", onclick: () => { change("waiting", "cancelled"); drawQueue(); } }, t("documents.cancel")),
      failed > 0 && el("button", { type: "button", onclick: () => { change("failed", "waiting"); add([]); } }, t("documents.retry"))),
    el("ul", { class: "uploads" }, uploads.map((one) => el("li", { class: one.state }, el("span", {}, one.path),
      el("span", {}, one.reason || t(`documents.${one.state}`, { n: one.notes }))))),
  ]);
}
