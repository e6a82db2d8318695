// All texts of the page, by key, in the language of the browser or the chosen one. Another language is another file.

export const LANGUAGES = { en: "English", de: "Deutsch" };
let table = {};

// Returns a text with its values filled in; unknown values become a dash.
export function t(key, values = {}) {
  return (table[key] ?? key).replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "–");
}

export function has(key) {
  return key in table;
}

export function keys() {
  return Object.keys(table);
}

export function preferredLanguage() {
  const wanted = [load("language"), ...(navigator.languages ?? [])].map((name) => (name ?? "").slice(0, 2));
  return wanted.find((name) => name in LANGUAGES) ?? "en";
}

// Loads a language and fills all elements of the page that name a text.
export async function useLanguage(name) {
  table = await (await fetch(`texts/${name}.json`)).json();
  document.documentElement.lang = name;
  save("language", name);
  for (const element of document.querySelectorAll("[data-t]")) element.textContent = t(element.dataset.t);
  for (const element of document.querySelectorAll("[data-title]")) element.title = t(element.dataset.title);
  for (const element of document.querySelectorAll("[data-label]")) element.setAttribute("aria-label", t(element.dataset.label));
}

// Values that this browser remembers; null without storage.
export function load(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

export function save(key, value) {
  try {
    localStorage.setItem(key, value);
  } catch {
    // without storage nothing is remembered
  }
}
