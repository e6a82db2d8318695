// SPDX-License-Identifier: Apache-2.0
// The panels: sheets over the picture on a phone, foldable and remembered in the rail of a desktop.

import { all, load, save, t } from "../texts/texts.js";

const FOLDED = "folded"; // key of the remembered state
const OWN_BUTTON = ["log", "records", "dance", "settings"]; // panels that another button opens
export const DESKTOP = matchMedia("(min-width: 1100px) and (min-height: 501px)");

export class Sheets {
  /**
   * @param {Document} root
   * @param {(name: string) => void} opened
   */
  constructor(root, opened) {
    this.opened = opened; // called with the name of a panel that becomes visible
    this.root = root;
    this.sheet = ""; // that is open on a phone
    this.panes = [...all(".pane", root)];
    this.strip = /** @type {HTMLElement} */ (root.getElementById("sheets"));
    this.folded = new Set((load(FOLDED) ?? OWN_BUTTON.join()).split(","));
    for (const pane of this.panes) this.title(pane);
    this.strip.replaceChildren(...this.panes.filter((pane) => !OWN_BUTTON.includes(pane.id)).map((pane) => this.tab(pane)));
    DESKTOP.addEventListener("change", () => this.show(""));
    this.show("");
  }

  /** @param {HTMLElement} pane */
  title(pane) {
    const [head, fold] = [document.createElement("h2"), document.createElement("button")];
    fold.type = "button";
    fold.className = "fold";
    fold.dataset.t = `pane_${pane.id}`;
    fold.onclick = () => (DESKTOP.matches ? this.fold(pane) : this.show(""));
    head.append(fold);
    pane.prepend(head);
    pane.dataset.label = fold.dataset.t;
    pane.setAttribute("role", "region");
  }

  /** @param {HTMLElement} pane */
  tab(pane) {
    const button = document.createElement("button");
    button.type = "button";
    button.dataset.t = `pane_${pane.id}`;
    button.dataset.sheet = pane.id;
    button.setAttribute("aria-controls", pane.id);
    button.onclick = () => this.show(this.sheet === pane.id ? "" : pane.id);
    return button;
  }

  /** @param {HTMLElement} pane */
  fold(pane) {
    if (!this.folded.delete(pane.id)) this.folded.add(pane.id);
    save(FOLDED, [...this.folded].join());
    this.show(this.sheet);
  }

  /**
   * Opens a panel; on a desktop it is unfolded in the rail.
   * @param {string} name
   */
  open(name) {
    this.folded.delete(name);
    save(FOLDED, [...this.folded].join());
    this.show(name);
  }

  /** @param {string} name */
  isOpen(name) {
    return DESKTOP.matches ? !this.folded.has(name) : this.sheet === name;
  }

  /** @param {string} name */
  toggle(name) {
    if (!this.isOpen(name)) this.open(name);
    else if (DESKTOP.matches) this.panes.filter((pane) => pane.id === name).forEach((pane) => this.fold(pane));
    else this.show("");
  }

  /**
   * Shows one panel as a sheet, or none; the rail always shows all.
   * @param {string} name
   */
  show(name) {
    if (name !== this.sheet && !DESKTOP.matches) this.panes[0].parentElement?.scrollTo(0, 0);
    this.sheet = name;
    document.body.dataset.sheet = DESKTOP.matches ? "" : name;
    for (const pane of this.panes) {
      const visible = this.isOpen(pane.id);
      if (visible && !pane.hasAttribute("data-open")) pane.scrollTop = 0;
      pane.toggleAttribute("data-open", visible);
      pane.querySelector(".fold")?.setAttribute("aria-expanded", String(visible));
    }
    for (const button of all("[data-sheet]", this.strip)) button.setAttribute("aria-expanded", String(button.dataset.sheet === name));
    this.root.getElementById("log-button")?.setAttribute("aria-expanded", String(this.isOpen("log")));
    this.opened(name);
  }

  /**
   * Hides a panel that has no meaning for this robot.
   * @param {string} name
   * @param {boolean} wanted
   */
  offer(name, wanted) {
    for (const each of all(`#${name}, [data-sheet="${name}"]`, this.root)) each.hidden = !wanted;
  }
}

/**
 * @param {string[][][]} rows
 * @param {string[]} captions
 */
export function help(rows, captions) {
  return rows.map((table, i) => {
    const caption = document.createElement("caption");
    caption.textContent = t(captions[i]);
    const body = document.createElement("tbody");
    for (const [keys, text] of table) {
      const row = body.insertRow();
      const head = document.createElement("th");
      head.scope = "row";
      head.append(...keys.split(" ").flatMap((key) => [Object.assign(document.createElement("kbd"), { textContent: key }), " "]));
      row.append(head);
      row.insertCell().textContent = t(text);
    }
    return [caption, body];
  });
}
