// SPDX-License-Identifier: Apache-2.0
// Forward kinematics for drawing. Frames as in the robot file: x forward, y left, z up; metres and radians.

/**
 * Returns the points of a leg in base_link: hip, end of the coxa, knee, center of the ball foot.
 * @param {any} leg of the shape of the robot
 * @param {number} q1
 * @param {number} q2
 * @param {number} q3
 */
export function legPoints(leg, q1, q2, q3) {
  const yaw = leg.yaw + q1;
  const c = Math.cos(yaw);
  const s = Math.sin(yaw);
  const at = (/** @type {number} */ r, /** @type {number} */ z) => [leg.hip[0] + r * c - leg.lateral * s, leg.hip[1] + r * s + leg.lateral * c, leg.hip[2] + z];
  const knee = [leg.coxa + leg.femur * Math.cos(q2), leg.vertical + leg.femur * Math.sin(q2)];
  const foot = [knee[0] + leg.tibia * Math.cos(q2 + q3), knee[1] + leg.tibia * Math.sin(q2 + q3)];
  return [leg.hip, at(leg.coxa, leg.vertical), at(knee[0], knee[1]), at(foot[0], foot[1])];
}

/**
 * Returns a function that transforms points from base_link to base_footprint, for [height, roll, pitch].
 * @param {number[]} pose
 */
export function placement([height, roll, pitch]) {
  const cr = Math.cos(roll);
  const sr = Math.sin(roll);
  const cp = Math.cos(pitch);
  const sp = Math.sin(pitch);
  return (/** @type {number[]} */ [x, y, z]) => [
    cp * x + sp * sr * y + sp * cr * z,
    cr * y - sr * z,
    -sp * x + cp * sr * y + cp * cr * z + height,
  ];
}

/**
 * Returns the inverse of `placement`.
 * @param {number[]} pose
 */
export function inBase([height, roll, pitch]) {
  const cr = Math.cos(roll);
  const sr = Math.sin(roll);
  const cp = Math.cos(pitch);
  const sp = Math.sin(pitch);
  return (/** @type {number[]} */ [x, y, z]) => {
    const up = z - height;
    return [cp * x - sp * up, sp * sr * x + cr * y + cp * sr * up, sp * cr * x - sr * y + cp * cr * up];
  };
}

/**
 * Returns the corners of the convex hull of points, counter-clockwise.
 * @param {number[][]} points
 */
export function hull(points) {
  const sorted = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const turn = (/** @type {number[]} */ a, /** @type {number[]} */ b, /** @type {number[]} */ c) => (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
  const chain = (/** @type {number[][]} */ list) => {
    /** @type {number[][]} */
    const corners = [];
    for (const point of list) {
      while (corners.length > 1 && turn(corners[corners.length - 2], corners[corners.length - 1], point) <= 0) corners.pop();
      corners.push(point);
    }
    return corners.slice(0, -1);
  };
  return sorted.length < 3 ? sorted : [...chain(sorted), ...chain(sorted.reverse())];
}

/**
 * Returns the eight corners of the body's box in base_link.
 * @param {number[]} size
 * @param {number[]} center
 */
export function boxCorners(size, center) {
  const corners = [];
  for (const i of [-0.5, 0.5])
    for (const j of [-0.5, 0.5])
      for (const k of [-0.5, 0.5]) corners.push([center[0] + i * size[0], center[1] + j * size[1], center[2] + k * size[2]]);
  return corners;
}

export const BOX_EDGES = [[0, 1], [0, 2], [0, 4], [1, 3], [1, 5], [2, 3], [2, 6], [3, 7], [4, 5], [4, 6], [5, 7], [6, 7]];

/**
 * Returns the point of the body's box that is nearest to a hip, in base_link.
 * @param {Shape} shape
 * @param {number[]} hip
 */
function nearestOnBox({ size, center }, hip) {
  return hip.map((value, k) => Math.max(center[k] - size[k] / 2, Math.min(center[k] + size[k] / 2, value)));
}

/**
 * Returns the geometry that the 2D views draw, for one state of the robot.
 * @param {Shape} shape
 * @param {RobotState} state
 * @returns {DrawnPose}
 */
export function pose(shape, state) {
  const toFootprint = placement(state.body);
  const q = state.joints;
  return {
    legs: shape.legs.map((leg, i) => legPoints(leg, q[3 * i], q[3 * i + 1], q[3 * i + 2]).map(toFootprint)),
    mounts: shape.legs.map((leg) => toFootprint(nearestOnBox(shape, leg.hip))),
    box: boxCorners(shape.size, shape.center).map(toFootprint),
    mass: toFootprint(state.mass),
    planted: state.planted,
    odom: state.odom ?? [0, 0, 0],
    margin: state.margin,
    commanded: state.commanded ?? [0, 0, 0],
  };
}

/**
 * Interpolates between two states; `share` is 0 at the first and 1 at the second.
 * @param {RobotState} a
 * @param {RobotState} b
 * @param {number} share
 */
export function interpolate(a, b, share) {
  const mix = (/** @type {any} */ from, /** @type {any} */ to) => (from && to ? to.map((/** @type {number} */ value, /** @type {number} */ i) => from[i] + share * (value - from[i])) : to);
  const odom = mix(a.odom, b.odom);
  if (a.odom && b.odom) odom[2] = a.odom[2] + share * Math.atan2(Math.sin(b.odom[2] - a.odom[2]), Math.cos(b.odom[2] - a.odom[2]));
  return { ...b, joints: mix(a.joints, b.joints), body: mix(a.body, b.body), mass: mix(a.mass, b.mass), odom };
}

/**
 * Returns the instantaneous center of rotation in base_footprint; null when the robot goes straight.
 * @param {number[]} velocity vx, vy, wz
 */
export function turnCenter([vx, vy, wz]) {
  return Math.abs(wz) < 1e-3 ? null : [-vy / wz, vx / wz];
}
