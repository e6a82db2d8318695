// SPDX-License-Identifier: Apache-2.0
// Buttons of the motions, progress of the present motion, and the stability margin.

import { all, t } from "../texts/texts.js";

const FULL_BAR = 120; // [mm] margin that fills the bar
const BAD_MARGIN = 20; // [mm] margin below which the bar is red
const LOW_MARGIN = 40; // [mm] margin below which the bar is yellow
const MAX_GAP = 50; // [mm] between two legs; larger clearances are not measured

export class MotionPanel {
  /** @type {number | null | undefined} */
  shown;

  /**
   * @param {Document} root
   * @param {import("../connection.js").Connection} connection
   */
  constructor(root, connection) {
    this.connection = connection;
    /** @type {(id: string) => any} */
    const find = (id) => root.getElementById(id);
    this.list = find("motions");
    this.playing = find("playing");
    this.name = find("playing-name");
    this.bar = find("playing-bar");
    this.margin = find("margin");
    this.number = this.margin.querySelector("b");
    this.gap = this.margin.querySelector("small");
    this.level = this.margin.querySelector("i");
    find("finish").onclick = () => connection.send("play", { name: "" });
  }

  /**
   * Shows the list of motions and the clearance between the legs; called twice a second.
   * @param {any} status
   */
  status({ motions, leg_gap }) {
    if (motions.join() !== this.listed) {
      this.listed = motions.join();
      this.list.replaceChildren(...motions.map((/** @type {string} */ name) => this.button(name)));
    }
    this.gap.textContent = leg_gap === null ? "" : t("leg_gap", { value: leg_gap < MAX_GAP / 1000 ? Math.round(1000 * leg_gap) : `${MAX_GAP}+` });
  }

  /** @param {string} name */
  button(name) {
    const button = document.createElement("button");
    button.type = "button";
    button.dataset.motion = name;
    button.dataset.needs = "torque";
    button.textContent = title(name);
    button.onclick = () => this.connection.send("play", { name });
    return button;
  }

  /**
   * Shows the progress of the motion; called thirty times a second.
   * @param {any} state
   */
  update({ motion }) {
    const text = motion ? `${title(motion.name)} · ${motion.phase}` : "";
    if (this.name.textContent !== text) this.name.textContent = text;
    if (this.playing.hidden !== !motion) this.playing.hidden = !motion;
    if (motion?.phase === "rehearse") this.bar.removeAttribute("value");
    else if (motion) this.bar.value = motion.percent;
    for (const button of all("button", this.list)) button.toggleAttribute("data-plays", button.dataset.motion === motion?.name);
  }

  /**
   * Shows the stability margin [m]; null if it is unknown.
   * @param {number | null} margin
   */
  setMargin(margin) {
    this.showMargin(margin === null ? null : Math.round(1000 * margin));
  }

  /** @param {number | null} millimetres */
  showMargin(millimetres) {
    if (millimetres === this.shown) return;
    this.shown = millimetres;
    this.margin.hidden = millimetres === null;
    if (millimetres === null) return;
    this.number.textContent = t("margin", { value: millimetres });
    this.level.style.width = `${Math.max(0, Math.min(100, (100 * millimetres) / FULL_BAR))}%`;
    this.margin.dataset.tone = millimetres < BAD_MARGIN ? "bad" : millimetres < LOW_MARGIN ? "warn" : "good";
    this.margin.setAttribute("aria-valuenow", millimetres);
  }
}

/** @param {string} name */
function title(name) {
  const text = name.replaceAll("_", " ");
  return text[0].toUpperCase() + text.slice(1);
}
