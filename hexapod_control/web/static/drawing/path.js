// SPDX-License-Identifier: Apache-2.0
// The way of the robot in the frame of odometry: its path, footprints and distance.

const STEP = 0.01; // [m] between two points of the path
const MOST = 1500; // points, and footprints

export class Path {
  /** @type {number[][]} */
  points = []; // [x, y]
  /** @type {number[][]} */
  prints = []; // [x, y, leg]
  distance = 0; // [m]
  /** @type {number[] | null} */
  planted = null;

  reset() {
    [this.points, this.prints, this.distance, this.planted] = [[], [], 0, null];
  }

  /**
   * Takes a state and its drawn pose (feet in base_footprint).
   * @param {{odom: number[] | null, planted: number[]}} state
   * @param {{legs: number[][][]} | undefined} pose
   */
  update(state, pose) {
    if (!state.odom || !pose) return;
    const [x, y, yaw] = state.odom;
    const last = this.points.at(-1);
    const way = last ? Math.hypot(x - last[0], y - last[1]) : 0;
    if (way > 1) this.reset(); // the world or odometry was reset
    if (!last || way > STEP) {
      this.distance += this.points.length ? way : 0;
      this.points.push([x, y]);
      if (this.points.length > MOST) this.points.shift();
    }
    const [c, s] = [Math.cos(yaw), Math.sin(yaw)];
    state.planted.forEach((down, leg) => {
      if (!down || !this.planted || this.planted[leg]) return;
      const [fx, fy] = pose.legs[leg][3];
      this.prints.push([x + c * fx - s * fy, y + s * fx + c * fy, leg]);
      if (this.prints.length > MOST) this.prints.shift();
    });
    this.planted = state.planted;
  }
}

/**
 * Triangles of a ribbon along points [x, y, z], as points with normals.
 * @param {number[][]} points
 * @param {number} width
 */
export function ribbon(points, width) {
  const data = [];
  const half = width / 2;
  for (let i = 1; i < points.length; i++) {
    const [a, b] = [points[i - 1], points[i]];
    const length = Math.hypot(b[0] - a[0], b[1] - a[1]) || 1;
    const [nx, ny] = [(-half * (b[1] - a[1])) / length, (half * (b[0] - a[0])) / length];
    /** @type {[number[], number][]} */
    const edges = [[a, 1], [a, -1], [b, 1], [b, 1], [a, -1], [b, -1]];
    for (const [p, sign] of edges) data.push(p[0] + sign * nx, p[1] + sign * ny, p[2], 0, 0, 1);
  }
  return data;
}

/**
 * Triangles of squares around points [x, y], on the ground, as points with normals.
 * @param {number[][]} points
 * @param {number} half half of the width
 */
export function squares(points, half) {
  const corners = [[-1, -1], [1, -1], [1, 1], [-1, -1], [1, 1], [-1, 1]];
  return points.flatMap(([x, y]) => corners.flatMap(([i, j]) => [x + half * i, y + half * j, 0, 0, 0, 1]));
}
