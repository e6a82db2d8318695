// SPDX-License-Identifier: Apache-2.0
// A dance as two tracks of steps that run at the same time, one of the body and one of the legs.

const FOOT_SECONDS = 0.8; // [s] that a foot needs, about: its step has no duration
const SHORTEST_PAUSE = 0.25; // [s] that is worth a step
/** @typedef {Record<string, Record<string, any>>} Step of a motion file: {kind: values} */
/** @typedef {"body" | "legs"} Track */

/**
 * How long a step lasts [s].
 * @param {Step} step
 */
export function seconds(step) {
  const [values] = Object.values(step);
  return values.duration ?? (values.period ? values.period * values.rounds : FOOT_SECONDS);
}

/**
 * The times [s] at which the steps of a track end.
 * @param {Step[]} steps
 */
export function ends(steps) {
  let at = 0;
  return steps.map((step) => (at += seconds(step)));
}

/** @param {Step[]} steps */
export const length = (steps) => ends(steps).at(-1) ?? 0;

/**
 * Adds a step that begins at a time [s], or when what its track does then is over. Returns its number.
 * @param {Step[]} steps
 * @param {Step} step
 * @param {number} at
 */
export function place(steps, step, at) {
  let [number, begins] = [0, 0];
  while (number < steps.length && begins < at - 1e-3) begins += seconds(steps[number++]);
  if (at - begins >= SHORTEST_PAUSE) steps.splice(number++, 0, { wait: { duration: Math.round(1000 * (at - begins)) / 1000 } });
  steps.splice(number, 0, step);
  return number;
}

/**
 * The track of a kind of step; a pause may be in both.
 * @param {string} kind
 * @returns {Track}
 */
export const trackOf = (kind) => (kind === "walk" || kind === "leg" ? "legs" : "body");

/**
 * Steps one after the other as tracks.
 * @param {Step[]} steps
 */
export function split(steps) {
  /** @type {Record<Track, Step[]>} */
  const tracks = { body: [], legs: [] };
  let at = 0;
  for (const step of steps) {
    const [kind] = Object.keys(step);
    if (kind !== "wait") place(tracks[trackOf(kind)], step, at);
    at += seconds(step);
  }
  return tracks;
}

/**
 * A track without the pauses at its end.
 * @param {Step[]} steps
 */
export function withoutEnd(steps) {
  let count = steps.length;
  while (steps[count - 1]?.wait) count--;
  return steps.slice(0, count);
}
