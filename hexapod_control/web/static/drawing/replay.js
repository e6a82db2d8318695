// SPDX-License-Identifier: Apache-2.0
// Plays the frames of a recording: what the picture shows at a time, in real time or at another speed.

/** @typedef {{at: number} & Record<string, any>} Frame what the picture shows at a time [s] */

export class Replay {
  /**
   * @param {string} name
   * @param {Frame[]} frames in order of their times
   */
  constructor(name, frames) {
    this.name = name;
    this.frames = frames;
    this.at = frames[0]?.at ?? 0; // [s]
    this.playing = true;
    this.shown = -1; // index of the last frame that was handed out
  }

  get first() {
    return this.frames[0]?.at ?? 0;
  }

  get last() {
    return this.frames.at(-1)?.at ?? 0;
  }

  /** @param {number} at [s] */
  seek(at) {
    this.at = Math.max(this.first, Math.min(this.last, at));
  }

  /**
   * Lets so many seconds pass; it stops at the end. Returns the frame that is due, null if it was returned before.
   * @param {number} seconds
   */
  advance(seconds) {
    if (this.playing) this.seek(this.at + seconds);
    if (this.at >= this.last) this.playing = false;
    const index = this.index();
    if (index === this.shown) return null;
    this.shown = index;
    return this.frames[index] ?? null;
  }

  // Continues, from the start if the end was reached, or pauses.
  toggle() {
    if (!this.playing && this.at >= this.last) this.seek(this.first);
    this.playing = !this.playing;
  }

  // Index of the newest frame at the present time.
  index() {
    let [low, high] = [0, this.frames.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (this.frames[middle].at <= this.at) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}
