// SPDX-License-Identifier: Apache-2.0
// Merges the inputs of the page (views, sticks, keys, gamepad) into one velocity. It is sent 20 times a second while an
// input is active; when the last input ends, one zero is sent.

const PERIOD = 50; // [ms]

export class VelocityInput {
  /** @param {import("../connection.js").Connection} connection */
  constructor(connection) {
    this.connection = connection;
    this.sources = new Map(); // name -> [vx, vy, wz] as shares, the newest last
    this.speed = 0.5; // share of the maximum, as the robot reports it
    this.guard = () => true; // whether the robot can be driven now
    this.paused = false;
    this.sent = false;
    setInterval(() => this.send(), PERIOD);
  }

  /**
   * Sets the velocity of one input, as shares; `full` ignores the speed setting of the page.
   * @param {string} name
   * @param {number} vx
   * @param {number} vy
   * @param {number} wz
   */
  set(name, vx, vy, wz, full = false) {
    if (this.paused || !this.guard()) return;
    const fresh = !this.sources.has(name);
    this.sources.delete(name);
    const speed = full ? 1 : this.speed;
    this.sources.set(name, [vx, vy, wz].map((v) => Math.max(-1, Math.min(1, v)) * speed));
    if (fresh) this.send();
  }

  /** @param {string} name */
  release(name) {
    if (this.sources.delete(name) && !this.sources.size) this.send();
  }

  stop() {
    this.sources.clear();
    this.sent = true; // so that a zero is sent in any case: it ends the blocking after a STOP
    this.send();
  }

  /** @param {boolean} paused */
  pause(paused) {
    this.paused = paused;
    if (paused) this.stop();
  }

  get current() {
    return [...this.sources.values()].at(-1) ?? null;
  }

  send() {
    const [vx, vy, wz] = this.current ?? [0, 0, 0];
    const on = this.current !== null;
    if (!on && !this.sent) return;
    this.sent = on;
    this.connection.send("drive", on ? { on, vx: round(vx), vy: round(vy), wz: round(wz) } : { on });
  }
}

/** @param {number} value */
function round(value) {
  return Math.round(value * 1e4) / 1e4;
}
