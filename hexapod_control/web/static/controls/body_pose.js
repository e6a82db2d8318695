// SPDX-License-Identifier: Apache-2.0
// The body pose: what the robot reports, and the next one that this page requests.

const PERIOD = 50; // [ms] between two requests at least
const SETTLED = 1500; // [ms] without a request, after which the next one starts from the pose of the robot
const LONGEST_MOVE = 10000; // [ms] after which the robot is no longer on its way to the requested pose
/** @typedef {{x: number, y: number, z: number, roll: number, pitch: number, yaw: number}} Pose */
/** @type {(keyof Pose)[]} */
const NAMES = ["x", "y", "z", "roll", "pitch", "yaw"];
/** @type {Pose} */
export const NEUTRAL = { x: 0, y: 0, z: 0, roll: 0, pitch: 0, yaw: 0 };

export class BodyPose {
  /** @param {import("../connection.js").Connection} connection */
  constructor(connection) {
    this.connection = connection;
    this.limits = { x: 0.03, y: 0.03, z: 0.06, roll: 0.26, pitch: 0.26, yaw: 0.3 };
    this.achieved = { ...NEUTRAL }; // as the robot reports it
    this.target = { ...NEUTRAL };
    this.dragHeight = 0; // [m] height by dragging on the front view, added to the target
    this.changed = false;
    /** @type {{leg?: string, x?: number, y?: number, z?: number} | null} */
    this.foot = null; // that is to move next; without a leg all come down
    this.requestedAt = -Infinity; // [ms]
    this.movedAt = -Infinity; // [ms]
    this.guard = () => true; // whether the pose may be changed now
    /** @type {((pose: BodyPose) => void)[]} */
    this.listeners = [];
    setInterval(() => this.send(), PERIOD);
  }

  /**
   * Takes the pose that the robot has reached.
   * @param {number[] | null} values
   */
  report(values, now = performance.now()) {
    if (!values) return;
    /** @type {any} */
    const pose = Object.fromEntries(NAMES.map((name, i) => [name, values[i]]));
    if (NAMES.some((name) => pose[name] !== this.achieved[name])) {
      this.movedAt = now;
      this.achieved = pose;
      for (const listener of this.listeners) listener(this);
    }
    if (this.settled(now)) this.target = { ...pose };
  }

  /** @param {number} now */
  settled(now) {
    const since = now - this.requestedAt;
    const rests = since > LONGEST_MOVE || now - this.movedAt > SETTLED / 3;
    return !this.dragHeight && !this.changed && since > SETTLED && rests;
  }

  /** @param {Partial<Pose>} part */
  set(part) {
    if (!this.guard()) return;
    for (const name of NAMES) {
      const [value, most] = [part[name], this.limits[name]];
      if (value !== undefined) this.target[name] = Math.max(-most, Math.min(most, value));
    }
    this.changed = true;
  }

  /** @param {number} height */
  dragTo(height) {
    if (height && !this.guard()) return;
    this.dragHeight = height;
    this.changed = true;
  }

  /** @param {{leg?: string, x?: number, y?: number, z?: number}} foot [m] in base_link */
  guide(foot) {
    if (this.guard()) this.foot = foot;
  }

  neutral() {
    this.dragHeight = 0;
    this.set(NEUTRAL);
  }

  get height() {
    return Math.max(-this.limits.z, Math.min(this.limits.z, this.target.z + this.dragHeight));
  }

  send() {
    if (this.foot) this.connection.send("foot", this.foot);
    this.foot = null;
    if (!this.changed) return;
    this.changed = false;
    this.requestedAt = performance.now();
    const pose = Object.fromEntries(Object.entries({ ...this.target, z: this.height }).map(([name, value]) => [name, Math.round(value * 1e4) / 1e4]));
    this.connection.send("pose", pose);
  }
}
