// SPDX-License-Identifier: Apache-2.0
// Strip charts of the last three minutes, with a choice of signals that is remembered, a pause and a file of all values.

import { load, save, t } from "../texts/texts.js";
import { History } from "./history.js";
import { catalogue, remembered, stateValues, statusValues } from "./signals.js";
import { Strip } from "./strip.js";

export const SPANS = [20, 60, 180]; // [s] of the time axis to choose from
const CHOICE = "plots"; // key of the remembered choice
const PERIOD = 66; // [ms] between two frames
const SMOOTH = 0.25; // low-pass filter of the achieved velocity: weight of a new value
const FROM_STATUS = ["battery", "temperature", "loops"];

/** @typedef {import("./signals.js").Signal} Signal */

export class Charts {
  /**
   * @param {HTMLElement} root
   * @param {HTMLSelectElement} choice
   */
  constructor(root, choice) {
    this.root = root;
    this.choice = choice;
    this.span = SPANS[0];
    /** @type {number | null} */
    this.pausedAt = null; // [ms] time at the right edge; null: now
    this.state = new History();
    this.slow = new History(); // values of the status
    /** @type {Map<string, Signal>} */
    this.signals = new Map();
    /** @type {Map<string, Strip>} */
    this.strips = new Map(); // by key, in the order in which they are shown
    /** @type {string[]} */
    this.legs = [];
    /** @type {(number | null)[]} */
    this.smooth = [null, null, null];
    /** @type {{name: string, value: number}[]} */
    this.limits = []; // of the battery
    this.drawn = 0;
    choice.onchange = () => this.show(choice.value);
  }

  /** @param {{legs: {name: string}[]}} shape */
  shape(shape) {
    if (this.legs.length) return;
    this.legs = shape.legs.map((leg) => leg.name);
    this.signals = catalogue(this.legs);
    for (const key of remembered(load(CHOICE), this.signals)) this.add(key);
    this.changed();
  }

  /** @param {string} key */
  add(key) {
    const signal = this.signals.get(key);
    if (!signal || this.strips.has(key)) return;
    const strip = new Strip(signal, FROM_STATUS.includes(key) ? this.slow : this.state, () => this.hide(key));
    if (key === "battery") strip.marks = this.limits;
    this.strips.set(key, strip);
    this.root.append(strip.box);
  }

  /** @param {string} key */
  show(key) {
    this.add(key);
    save(CHOICE, [...this.strips.keys()].join());
    this.changed();
    this.strips.get(key)?.box.scrollIntoView({ block: "nearest" });
  }

  /** @param {string} key */
  hide(key) {
    this.strips.get(key)?.box.remove();
    this.strips.delete(key);
    save(CHOICE, [...this.strips.keys()].join());
    this.changed();
  }

  changed() {
    const left = [...this.signals.values()].filter(({ key }) => !this.strips.has(key));
    this.choice.replaceChildren(new Option(t("plot_add"), ""), ...left.map(({ key, title, unit }) => new Option(`${t(...title)} ${unit}`, key)));
    this.restyle();
  }

  restyle() {
    const style = getComputedStyle(document.documentElement);
    for (const strip of this.strips.values()) strip.restyle((name) => style.getPropertyValue(`--${name}`).trim());
  }

  /** @param {any} state */
  update(state) {
    const values = stateValues(state, this.legs);
    ["vx", "vy", "wz"].forEach((axis, k) => {
      const [raw, before] = [values[`${axis} achieved`], this.smooth[k]];
      values[`${axis} achieved`] = this.smooth[k] = raw === null || before === null ? raw : before + SMOOTH * (raw - before);
    });
    this.state.add(performance.now(), values);
  }

  /** @param {any} status */
  status(status) {
    this.slow.add(performance.now(), statusValues(status));
    const [warn, critical] = status.battery_limits ?? [];
    this.limits.splice(0, 2, ...(warn ? [{ name: "battery_warn", value: warn }, { name: "battery_sit", value: critical }] : []));
  }

  /**
   * Draws if a frame is due. Returns whether it was.
   * @param {number} now
   */
  draw(now) {
    if (now - this.drawn < PERIOD || !this.root.offsetParent) return false;
    this.drawn = now;
    for (const strip of this.strips.values()) strip.draw(this.pausedAt ?? now, 1000 * this.span);
    return true;
  }

  /** @param {boolean} paused */
  pause(paused) {
    this.pausedAt = paused ? performance.now() : null;
  }

  // All values as comma-separated values: seconds before now, then a column per value.
  csv(now = performance.now()) {
    return [this.state, this.slow]
      .map(({ times, columns }) => {
        const names = [...columns.keys()];
        const rows = times.map((time, i) => [((time - now) / 1000).toFixed(3), ...names.map((name) => cell(columns.get(name)?.[i]))]);
        return [["seconds", ...names], ...rows].map((row) => row.join()).join("\n");
      })
      .join("\n\n");
  }
}

/** @param {number | undefined} value */
function cell(value) {
  return value === undefined || Number.isNaN(value) ? "" : Number(value.toFixed(5));
}
