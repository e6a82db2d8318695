// Texts of the program are in English. The table of a language has them as keys, with {1}, {2} … for variable parts.

import { has, keys, t } from "./texts/texts.js";

const VARIES = /\\\{\d\\\}/g;
const rows = new Map(); // language -> [pattern, key]

export function translated(text) {
  if (has(text)) return t(text);
  for (const [pattern, key] of patterns()) {
    const found = pattern.exec(text);
    if (found) return t(key, Object.fromEntries(found.slice(1).map((part, index) => [index + 1, translated(part)])));
  }
  return text.includes("\n") ? text.split("\n").map((line) => translated(line.trim())).join("\n") : text;
}

function patterns() {
  const { lang } = document.documentElement;
  if (!rows.has(lang)) rows.set(lang, keys().filter((key) => key.includes("{1}")).map((key) => [pattern(key), key]));
  return rows.get(lang);
}

function pattern(key) {
  return new RegExp(`^${key.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(VARIES, "(.+?)")}$`, "s");
}
