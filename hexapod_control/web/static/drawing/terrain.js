// SPDX-License-Identifier: Apache-2.0
// The ground of the simulated world: boxes [x, y, z, yaw, pitch, half sizes], in metres and radians of the world.

const CELL = 0.5; // [m] of the grid in which boxes are found
const LARGE = 1; // [m] half size from which a box is checked at every point
const NEAR = 1.5; // [m] around the robot in which the ground is drawn

export class Terrain {
  /** @param {number[][]} [boxes] */
  constructor(boxes = []) {
    this.boxes = boxes;
    this.large = [];
    this.cells = new Map();
    for (const box of boxes) {
      const radius = Math.hypot(box[5], box[6]);
      if (radius > LARGE) this.large.push(box);
      else for (const key of keys(box[0], box[1], radius)) this.cells.set(key, [...(this.cells.get(key) ?? []), box]);
    }
  }

  get flat() {
    return !this.boxes.length;
  }

  /**
   * The box whose top is highest at a point, with that height; [null, 0] on the plane.
   * @param {number} x
   * @param {number} y
   * @returns {[number[] | null, number]}
   */
  at(x, y) {
    const here = this.cells.get(key(x, y)) ?? [];
    /** @type {[number[] | null, number]} */
    let best = [null, 0];
    for (const box of [...this.large, ...here]) {
      const height = top(box, x, y);
      if (height !== null && (!best[0] || height > best[1])) best = [box, height];
    }
    return best;
  }

  /**
   * @param {number} x
   * @param {number} y
   */
  height(x, y) {
    return this.at(x, y)[1];
  }

  /**
   * @param {number} x
   * @param {number} y
   */
  near(x, y, reach = NEAR) {
    return this.boxes.filter((box) => Math.abs(box[0] - x) < reach + box[5] && Math.abs(box[1] - y) < reach + box[6]);
  }
}

/**
 * Height of the ground below a robot, and its slope [roll, pitch] in the heading of the robot.
 * @param {Terrain} terrain
 * @param {number[]} place x, y, heading
 * @param {number[][]} feet
 */
export function groundBelow(terrain, [x, y, yaw], feet) {
  if (terrain.flat) return { height: 0, roll: 0, pitch: 0 };
  const [c, s] = [Math.cos(yaw), Math.sin(yaw)];
  const heights = feet.map(([fx, fy]) => terrain.height(x + c * fx - s * fy, y + s * fx + c * fy));
  const height = heights.length ? heights.reduce((sum, one) => sum + one, 0) / heights.length : terrain.height(x, y);
  const tilt = terrain.at(x, y)[0]?.[4] ?? 0;
  return { height, roll: tilt * Math.sin(yaw), pitch: tilt * Math.cos(yaw) };
}

/**
 * The transform from the world to the frame of odometry: [x, y, yaw].
 * @param {number[] | null | undefined} odom
 * @param {number[] | null | undefined} truth
 * @returns {[number, number, number]}
 */
export function worldInOdometry(odom, truth) {
  if (!odom || !truth) return [0, 0, 0];
  const turn = odom[2] - truth[2];
  const [c, s] = [Math.cos(turn), Math.sin(turn)];
  return [odom[0] - c * truth[0] + s * truth[1], odom[1] - s * truth[0] - c * truth[1], turn];
}

/**
 * The eight corners of a box, the four of its top last.
 * @param {number[]} box
 */
export function corners([x, y, z, yaw, pitch, a, b, h]) {
  const [cy, sy, cp, sp] = [Math.cos(yaw), Math.sin(yaw), Math.cos(pitch), Math.sin(pitch)];
  const found = [];
  for (const w of [-h, h])
    for (const [u, v] of [[-a, -b], [a, -b], [a, b], [-a, b]]) {
      const along = cp * u + sp * w;
      found.push([x + cy * along - sy * v, y + sy * along + cy * v, z - sp * u + cp * w]);
    }
  return found;
}

const SIDES = [[0, 1, 5, 4], [1, 2, 6, 5], [2, 3, 7, 6], [3, 0, 4, 7]];

/**
 * Triangles of tops and sides, as points with normals.
 * @param {number[][]} boxes
 */
export function triangles(boxes) {
  const data = [];
  for (const box of boxes) {
    const points = corners(box);
    for (const face of [[4, 5, 6, 7], ...SIDES]) {
      const [a, b, c] = face.map((i) => points[i]);
      const normal = unit(cross(minus(b, a), minus(c, a)));
      for (const i of [0, 1, 2, 0, 2, 3]) data.push(...points[face[i]], ...normal);
    }
  }
  return data;
}

/**
 * @param {number[]} box
 * @param {number} px
 * @param {number} py
 */
function top([x, y, z, yaw, pitch, a, b, h], px, py) {
  const [c, s] = [Math.cos(yaw), Math.sin(yaw)];
  const [dx, dy] = [c * (px - x) + s * (py - y), -s * (px - x) + c * (py - y)];
  const u = (dx - Math.sin(pitch) * h) / Math.cos(pitch);
  return Math.abs(u) <= a && Math.abs(dy) <= b ? z - Math.sin(pitch) * u + Math.cos(pitch) * h : null;
}

const key = (/** @type {number} */ x, /** @type {number} */ y) => `${Math.floor(x / CELL)} ${Math.floor(y / CELL)}`;

/**
 * @param {number} x
 * @param {number} y
 * @param {number} radius
 */
function keys(x, y, radius) {
  const found = new Set();
  for (const dx of [-radius, 0, radius]) for (const dy of [-radius, 0, radius]) found.add(key(x + dx, y + dy));
  return found;
}

const minus = (/** @type {number[]} */ a, /** @type {number[]} */ b) => a.map((value, i) => value - b[i]);
const cross = (/** @type {number[]} */ [a, b, c], /** @type {number[]} */ [d, e, f]) => [b * f - c * e, c * d - a * f, a * e - b * d];

/** @param {number[]} v */
function unit(v) {
  const length = Math.hypot(...v) || 1;
  return v.map((value) => value / length);
}
