// Question sets out of files: JSON (a list, or an object with `queries` and a `name`), or JSON Lines with one a line.

/** Return {name, queries} of a file's text; throws an Error that says what is wrong, and where. */
export function questionsOf(file, text, t) {
  const lines = text.replace(/^\ufeff/, "");
  const found = /\.jsonl$/i.test(file) ? byLine(file, lines, t) : whole(file, lines, t);
  const queries = Array.isArray(found) ? found : found?.queries;
  if (!Array.isArray(queries) || !queries.length) throw new Error(t("quality.no_questions", { file }));
  return { name: typeof found.name === "string" ? found.name : "", queries: queries.map((query, place) => numbered(query, place + 1, t)) };
}

function whole(file, text, t) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(t("quality.bad_file", { file, why: error.message }));
  }
}

function byLine(file, text, t) {
  return text.split("\n").flatMap((line, place) => {
    if (!line.trim()) return [];
    try {
      return [JSON.parse(line)];
    } catch (error) {
      throw new Error(t("quality.bad_line", { file, line: place + 1, why: error.message }));
    }
  });
}

// A question without an id is called by its place.
function numbered(query, number, t) {
  if (!query || typeof query !== "object" || Array.isArray(query)) throw new Error(t("quality.no_object", { n: number }));
  return { id: String(number), ...query };
}
