// SPDX-License-Identifier: Apache-2.0
// The feel of sticks and sounds, as this person has chosen: remembered by this browser, kept in a profile of the robot.

import { load, save } from "../texts/texts.js";

/** @typedef {{dead_zone: number, curve: number, sounds: number}} Feel dead zone and curve in percent, sounds 0 or 1 */
/** @type {Feel} */
export const FEEL = { dead_zone: 6, curve: 0, sounds: 0 };
/** @type {Feel} */
export const feel = { ...FEEL, ...remembered() };
/** @type {Record<string, number[]>} */
const TONES = { stop: [330, 220], warn: [440, 440], done: [523, 784] }; // [Hz]
const TONE_TIME = 0.14; // [s]
/** @type {string[]} */
export const played = []; // sounds since the page was loaded
/** @type {AudioContext | undefined} */
let audio;

function remembered() {
  try {
    return JSON.parse(load("feel") ?? "{}");
  } catch {
    return {};
  }
}

/** @param {Partial<Feel>} part */
export function setFeel(part) {
  for (const name of /** @type {const} */ (["dead_zone", "curve", "sounds"])) feel[name] = part[name] ?? feel[name];
  save("feel", JSON.stringify(feel));
}

/**
 * The command of a deflection in [-1, 1]: zero in the dead zone, then linear, or flat near the center with a curve.
 * @param {number} value
 * @param {number} removed dead zone that the value has had already
 */
export function shape(value, removed = 0) {
  const dead = Math.max(0, (feel.dead_zone / 100 - removed) / (1 - removed));
  const way = Math.min(1, Math.max(0, (Math.abs(value) - dead) / (1 - dead)));
  const bend = feel.curve / 100;
  return Math.sign(value) * ((1 - bend) * way + bend * way ** 3) + 0; // never -0
}

/** @param {string} name */
export function sound(name) {
  if (!feel.sounds) return;
  played.push(name);
  audio ??= new AudioContext();
  const [from, context] = [audio.currentTime, audio];
  TONES[name].forEach((frequency, number) => {
    const [tone, volume] = [context.createOscillator(), context.createGain()];
    const at = from + number * TONE_TIME;
    tone.frequency.value = frequency;
    volume.gain.setValueAtTime(0.2, at);
    volume.gain.exponentialRampToValueAtTime(0.001, at + TONE_TIME);
    tone.connect(volume).connect(context.destination);
    tone.start(at);
    tone.stop(at + TONE_TIME);
  });
}
