// SPDX-License-Identifier: Apache-2.0
// The values of the last three minutes, by name and time. Uses no element of the page.

export const LENGTH = 180000; // [ms] that is kept
const SLACK = 60; // times that may be too old, so that not every value moves all others

export class History {
  /** @param {number} [length] */
  constructor(length = LENGTH) {
    this.length = length;
    /** @type {number[]} */
    this.times = []; // [ms]
    /** @type {Map<string, number[]>} */
    this.columns = new Map(); // by name, NaN where a value is unknown
  }

  /**
   * @param {number} time
   * @param {Record<string, number | null | undefined>} values
   */
  add(time, values) {
    for (const name of Object.keys(values)) if (!this.columns.has(name)) this.columns.set(name, Array(this.times.length).fill(NaN));
    this.times.push(time);
    for (const [name, column] of this.columns) column.push(values[name] ?? NaN);
    const old = this.after(time - this.length);
    if (old <= SLACK) return;
    this.times.splice(0, old);
    for (const column of this.columns.values()) column.splice(0, old);
  }

  /** @param {string} name */
  column(name) {
    return this.columns.get(name) ?? [];
  }

  /**
   * The index of the first value after a time.
   * @param {number} time
   */
  after(time) {
    let [low, high] = [0, this.times.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.times[middle] > time) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}
