// SPDX-License-Identifier: Apache-2.0
// The header and the large button of the next step; grey controls that say why they have no effect.

import { all, said, t } from "../texts/texts.js";
import { hottest, present, short, supply } from "./presentation.js";

const HOT = 60; // [°C] servos above are shown in the colour of a warning
const HINT_TIME = 5000; // [ms]
const ENOUGH = 1200; // [ms] between two equal hints

export class Header {
  spoken = ""; // key of the sentence that a screen reader has read
  hinted = "";
  hintedAt = -Infinity; // [ms]

  /**
   * @param {Document} root
   * @param {Record<string, () => void>} effects
   */
  constructor(root, effects) {
    /** @type {(id: string) => any} */
    this.find = (id) => root.getElementById(id);
    this.effects = effects; // what the steps do, by name
    /** @type {import("./presentation.js").Presentation | null} */
    this.shown = null;
    this.find("sentence").onclick = () => this.hint(this.find("sentence-text").textContent); // in full, if it is cut
    this.find("step").onclick = () => this.shown?.step && this.effects[this.shown.step]();
    for (const kind of ["pointerdown", "mousedown", "click", "keydown"]) root.addEventListener(kind, (event) => this.refuse(event), true);
  }

  /**
   * Shows everything that is known; called whenever something has changed.
   * @param {any} known
   */
  update(known) {
    const shown = (this.shown = present(known));
    const text = t(...shown.text);
    const sentence = this.find("sentence");
    put(this.find("sentence-text"), text);
    sentence.title = text;
    sentence.dataset.tone = shown.tone;
    if (this.spoken !== shown.text[0]) {
      this.spoken = shown.text[0];
      this.find("spoken").textContent = text;
    }
    const step = this.find("step");
    put(step, t(`step_${shown.step}`));
    step.dataset.step = shown.step;
    explain(step, shown.stepWhy);
    for (const element of all("[data-needs]")) explain(element, this.why(element.dataset.needs ?? ""));
    this.chips(known);
  }

  /** @param {any} known */
  chips({ link, me, driver, driverName, source, status, roundTrip }) {
    const open = link === "open";
    const other = open && source && source !== "none" && source !== "tablet" ? ` · ${source}` : "";
    const who = !open ? "–" : driver === me && me ? t("you_drive") : driver ? t("name_drives", { name: driverName }) : t("no_driver");
    chip(this.find("chip-driver"), who + other, driver === me && me ? "mine" : "");
    chip(this.find("chip-link"), open && roundTrip !== null ? `${Math.round(roundTrip)} ms` : "–");
    const fresh = open ? status : null; // old values are not shown as those of now
    const battery = fresh?.battery;
    chip(this.find("chip-battery"), battery ? `▮ ${battery.volts.toFixed(1)} V` : "", supply(battery, fresh?.battery_limits));
    const hot = hottest(fresh?.temperatures);
    chip(this.find("chip-servo"), hot ? `${short(hot[0])} ${Math.round(hot[1])} °C` : "", hot && hot[1] >= HOT ? "warn" : "");
  }

  /**
   * Why a command of this kind has no effect now; null if it has.
   * @param {string} needs
   * @returns {import("./presentation.js").Say | null | undefined}
   */
  why(needs) {
    return this.shown?.[/** @type {"driveWhy"} */ (`${needs}Why`)];
  }

  /**
   * Stops events of grey controls and says why they have no effect.
   * @param {any} event
   */
  refuse(event) {
    const element = event.target.closest?.("[aria-disabled=true][data-why]");
    if (!element || (event.type === "keydown" && (event.key === "Tab" || event.code === "Space" || event.key === "?"))) return;
    if (event.type === "keydown" && !["Enter", "ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"].includes(event.key)) return;
    event.preventDefault();
    event.stopPropagation();
    this.hint(element.dataset.why);
  }

  /**
   * Shows a sentence over the picture for a while; an empty one removes the last one.
   * @param {string} text
   */
  hint(text) {
    text = said(text);
    const now = performance.now();
    if (text === this.hinted && now - this.hintedAt < ENOUGH) return;
    [this.hinted, this.hintedAt] = [text, now];
    const box = this.find("hint");
    box.textContent = text;
    clearTimeout(this.timer);
    if (!text) return void delete box.dataset.on;
    box.dataset.on = "";
    this.timer = setTimeout(() => delete box.dataset.on, HINT_TIME);
  }
}

/**
 * Makes a control grey with the reason why it has no effect, or usable.
 * @param {HTMLElement} element
 * @param {import("./presentation.js").Say | null | undefined} why
 */
export function explain(element, why) {
  if (why) {
    element.setAttribute("aria-disabled", "true");
    element.dataset.why = t(...why);
  } else if (element.dataset.why) {
    element.removeAttribute("aria-disabled");
    delete element.dataset.why;
  }
}

/**
 * @param {HTMLElement} element
 * @param {string} text
 * @param {string} [tone]
 */
function chip(element, text, tone = "") {
  element.hidden = !text;
  put(element, text);
  element.dataset.tone = tone;
}

/**
 * @param {HTMLElement} element
 * @param {string} text
 */
export function put(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
