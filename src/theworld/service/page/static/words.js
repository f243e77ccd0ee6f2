// What the page says, in English or Chinese.

/** The language chosen before, else the browser's. */
export function chosenLanguage() {
  const chosen = localStorage.getItem("theworld.language") || navigator.language || "en";
  return chosen.toLowerCase().startsWith("zh") ? "zh" : "en";
}

/** Load a language; returns t(key, values), which fills "{name}" from the values. */
export async function loadWords(language) {
  const words = await (await fetch(`/page/words/${language}.json`)).json();
  const t = (key, values = {}) =>
    (words[key] ?? key).replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
  t.has = (key) => key in words;
  t.language = language;
  return t;
}
