// What the page says, in English or Chinese.

/** The language chosen before, else the browser's. */
export function chosenLanguage() {
  const chosen = localStorage.getItem("theworld.language") || navigator.language || "en";
  return chosen.toLowerCase().startsWith("zh") ? "zh" : "en";
}

/**
 * Load a language; returns t(key, values), which fills "{name}" from the values.
 *
 * t.reason(text) is a reason, a note or a fallback in this language: records hold them in English. It reads the rows of
 * src/theworld/reasons.yaml as `theworld.packages.reason_in` does: the first that fits, else the parts between "; ".
 */
export async function loadWords(language) {
  const words = await (await fetch(`/page/words/${language}.json`)).json();
  const t = (key, values = {}) =>
    (words[key] ?? key).replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
  t.has = (key) => key in words;
  t.language = language;
  const rows = Object.entries(words).filter(([key]) => language !== "en" && key.startsWith("reasons."))
    .map(([key, text]) => [pattern(key.slice("reasons.".length)), text]);
  t.reason = (reason) => {
    for (const [row, text] of rows) {
      const parts = row.exec(reason)?.groups ?? (row.test(reason) ? {} : null);
      if (parts) return text.replace(/\{(\w+)\}/g, (_, name) => (name.startsWith("reason") ? t.reason(parts[name]) : parts[name].replace(/^['"]+|['"]+$/g, "")));
    }
    const pieces = reason.split("; ");
    return pieces.length > 1 && language === "zh" ? pieces.map(t.reason).join("；") : reason;
  };
  return t;
}

/** What a row of reasons fits: its English, with any text in the place of each "{name}". */
function pattern(row) {
  const escaped = row.replace(/[.*+?^$()|[\]\\/]/g, "\\$&").replace(/\{(\w+)\}/g, "(?<$1>.+?)");
  return new RegExp(`^${escaped}$`, "s");
}
