// SPDX-License-Identifier: Apache-2.0
// Sentences of the program, and words in its drawings, in the language of the page.

import { has, t } from "./texts/texts.js";

// The text of a sentence's kind, with its values filled in.
export function inWords(said) {
  if (typeof said === "string") return said;
  if (!has(said.kind)) return said.text;
  return t(said.kind, Object.fromEntries(Object.entries(said.values).map(([name, value]) => [name, inWords(value)]))).trim();
}

export function draw(figure, svg) {
  figure.innerHTML = svg;
  for (const text of figure.querySelectorAll("text, title")) text.textContent = t(text.textContent);
}
