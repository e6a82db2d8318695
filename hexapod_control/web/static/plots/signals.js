// SPDX-License-Identifier: Apache-2.0
// The signals of a robot that can be plotted, and their values in its messages. Pure functions.

import { short } from "../panels/presentation.js";

const DEGREES = 180 / Math.PI;
const JOINTS = ["coxa", "femur", "tibia"];
const AXES = { vx: "m/s", vy: "m/s", wz: "rad/s" };
export const USUAL = ["vx", "vy", "wz", "coxa", "femur", "tibia", "battery", "temperature", "loops"]; // plotted at first

/**
 * @typedef {{column: string, name: string, color: string, dashed?: boolean}} Series
 * @typedef {{key: string, title: [string, Record<string, string>], unit: string, least: number, series: Series[], prefix?: string, highest?: boolean}} Signal
 */

/**
 * All signals of a robot by key; a title is a text with its values. Those with a prefix have a series per column.
 * @param {string[]} legs
 * @returns {Map<string, Signal>}
 */
export function catalogue(legs) {
  /** @type {Map<string, Signal>} */
  const found = new Map();
  const color = (/** @type {number} */ i) => `leg-${i % 6}`;
  const add = (/** @type {string} */ key, /** @type {string} */ unit, /** @type {number} */ least, /** @type {Series[]} */ series, /** @type {Partial<Signal>} */ more = {}) =>
    found.set(key, { key, title: [`plot_${key}`, {}], unit, least, series, ...more });
  Object.entries(AXES).forEach(([axis, unit], i) => {
    const paint = color([0, 1, 3][i]);
    add(axis, unit, axis === "wz" ? 0.2 : 0.05, [
      { column: `${axis} commanded`, name: "commanded", color: paint, dashed: true },
      { column: `${axis} achieved`, name: "achieved", color: paint },
    ]);
  });
  add("speed", "m/s", 0.05, [{ column: "speed", name: "", color: color(0) }]);
  for (const joint of JOINTS) {
    const series = legs.map((leg, i) => ({ column: `${leg}_${joint}`, name: short(leg), color: color(i) }));
    add(joint, "°", 20, series);
  }
  const forces = legs.map((leg, i) => ({ column: `${leg} force`, name: short(leg), color: color(i) }));
  add("forces", "N", 5, forces);
  add("tilt", "°", 5, ["roll", "pitch"].map((name, i) => ({ column: name, name: `pose_${name}`, color: color(3 * i) })));
  add("height", "mm", 10, [{ column: "height", name: "", color: color(0) }]);
  add("margin", "mm", 20, [{ column: "margin", name: "", color: color(1) }]);
  add("battery", "V", 1, [{ column: "battery", name: "", color: color(0) }]);
  add("temperature", "°C", 10, [], { prefix: "temperature ", highest: true }); // of many lines only the highest is told from the others
  add("loops", "Hz", 10, [], { prefix: "loop " });
  for (const leg of legs)
    for (const joint of JOINTS) {
      const column = `${leg}_${joint}`;
      add(column, "°", 10, [{ column, name: "", color: color(0) }], { title: ["plot_joint", { joint: short(column) }] });
    }
  return found;
}

/**
 * The values of a `state` message by column.
 * @param {any} state
 * @param {string[]} legs
 * @returns {Record<string, number | null>}
 */
export function stateValues(state, legs) {
  /** @type {Record<string, number | null>} */
  const values = {};
  Object.keys(AXES).forEach((axis, k) => {
    values[`${axis} commanded`] = state.commanded?.[k] ?? 0;
    values[`${axis} achieved`] = state.achieved?.[k] ?? null;
  });
  values.speed = state.achieved ? Math.hypot(state.achieved[0], state.achieved[1]) : null;
  values.margin = state.margin === null ? null : 1000 * state.margin;
  if (state.joints) {
    legs.forEach((leg, i) => JOINTS.forEach((joint, k) => (values[`${leg}_${joint}`] = state.joints[3 * i + k] * DEGREES)));
    values.height = 1000 * state.body[0];
    [values.roll, values.pitch] = [state.body[1] * DEGREES, state.body[2] * DEGREES];
  }
  legs.forEach((leg, i) => (values[`${leg} force`] = state.forces?.[i] ?? null));
  return values;
}

/**
 * The values of a `status` message by column.
 * @param {any} status
 * @returns {Record<string, number>}
 */
export function statusValues({ loops, temperatures, battery }) {
  const named = (/** @type {string} */ prefix, /** @type {Record<string, number>} */ values) => Object.entries(values ?? {}).map(([name, value]) => [`${prefix} ${name}`, value]);
  return Object.fromEntries([...named("loop", loops), ...named("temperature", temperatures), ...(battery ? [["battery", battery.volts]] : [])]);
}

/**
 * The chosen keys that a robot has, from the remembered text; the usual ones without one.
 * @param {string | null} text
 * @param {Map<string, Signal>} known
 */
export function remembered(text, known) {
  return (text === null ? USUAL : text.split(",")).filter((key) => known.has(key));
}
