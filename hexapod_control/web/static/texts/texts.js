// SPDX-License-Identifier: Apache-2.0
// All texts of the page, by key, in the language of the browser or the chosen one. Another language is another file.

export const LANGUAGES = { en: "English", de: "Deutsch" };
/** @type {Record<string, string>} */
let table = {};
/** @typedef {{kind: string, text: string, values: Record<string, any>}} Statement what a node has said; a value may be one */
/** @type {Map<string, Statement>} */
const statements = new Map(); // by the begin of their English text
const MOST = 300; // statements
const LONGEST = 240; // characters by which they are known, as in diagnostics_summary.py

/**
 * Keeps statements, so that their texts are said in the language of the page.
 * @param {Statement[]} list
 */
export function learn(list) {
  for (const each of list) statements.set(each.text.slice(0, LONGEST), each);
  for (const key of [...statements.keys()].slice(0, Math.max(0, statements.size - MOST))) statements.delete(key);
}

/**
 * A statement in the language of the page; in English, as it came, if that language lacks it.
 * @param {Statement} statement
 * @returns {string}
 */
function stated({ kind, text, values }) {
  const template = table[`said_${kind}`];
  if (!template) return text;
  return template.replace(/\{(\w+)\}/g, (_, name) => (values[name]?.kind === undefined ? (values[name] ?? "–") : stated(values[name])));
}

/**
 * Returns a text with its values filled in; unknown values become a dash.
 * @param {string} key
 * @param {Record<string, any>} [values]
 * @returns {string}
 */
export function t(key, values = {}) {
  return (table[key] ?? key).replace(/\{(\w+)[^}]*\}/g, (_, name) => said(values[name] ?? "–"));
}

/** @type {Record<string, string>} */
const BUTTONS = { stand: "stand", sit: "sit", recover: "recover", arm: "arm", reset: "reset_and_arm", disarm: "estop", estop: "estop" };

/**
 * A sentence of the robot, which names commands of a terminal, with the buttons that do the same.
 * @param {any} text
 * @returns {string}
 */
export function said(text) {
  const known = statements.get(String(text).slice(0, LONGEST));
  const once = (known ? stated(known) : String(text)).replace("hexapod reset, then hexapod arm", "hexapod reset");
  return once.replace(/(run )?hexapod (\w+)\b(?!-)/g, (whole, run, name) => {
    const latched = globalThis.document?.getElementById("step")?.dataset.step === "rearm";
    const key = `step_${name === "reset" && latched ? "rearm" : BUTTONS[name]}`;
    return has(key) ? (run ? `${table.press} ` : "") + t(key).replace(" …", "") : whole; // other pages have no such buttons
  });
}

/** @param {string} key */
export function has(key) {
  return key in table;
}

export function preferredLanguage() {
  const asked = new URLSearchParams(location.search).get("lang"); // by the page that has led here
  if (asked) history.replaceState(null, "", location.pathname + location.hash);
  const wanted = [asked, load("language"), ...(navigator.languages ?? [])].map((name) => (name ?? "").slice(0, 2));
  return wanted.find((name) => name in LANGUAGES) ?? "en";
}

/**
 * Loads a language and fills all elements of the page that name a text.
 * @param {string} name
 * @param {string[]} more how the names of files with further texts begin
 */
export async function useLanguage(name, ...more) {
  const files = ["", ...more].map((begin) => fetch(`texts/${begin}${name}.json`));
  const found = await Promise.all(files.map(async (file) => (await file).json()));
  table = Object.assign({}, ...found);
  document.documentElement.lang = name;
  save("language", name);
  for (const element of all("[data-t]")) element.textContent = t(element.dataset.t ?? "");
  for (const element of all("[data-title]")) element.title = t(element.dataset.title ?? "");
  for (const element of all("[data-label]")) element.setAttribute("aria-label", t(element.dataset.label ?? ""));
}

/**
 * All elements of the page that match a selector.
 * @param {string} selector
 * @param {ParentNode} [root]
 * @returns {NodeListOf<HTMLElement>}
 */
export function all(selector, root = document) {
  return root.querySelectorAll(selector);
}

/**
 * A value that this browser remembers; null without storage.
 * @param {string} key
 */
export function load(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

/**
 * @param {string} key
 * @param {string} value
 */
export function save(key, value) {
  try {
    localStorage.setItem(key, value);
  } catch {
    // without storage nothing is remembered
  }
}
