// SPDX-License-Identifier: Apache-2.0
// Elements of the page, and its colours.

export const $ = (id) => document.getElementById(id);

export function element(kind, properties = {}, ...children) {
  const made = Object.assign(document.createElement(kind), properties);
  made.append(...children);
  return made;
}

const dark = matchMedia("(prefers-color-scheme: dark)");
const setTheme = () => (document.documentElement.dataset.theme = dark.matches ? "dark" : "light");
dark.addEventListener("change", setTheme);
setTheme();
