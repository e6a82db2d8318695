// SPDX-License-Identifier: Apache-2.0
// What is drawn into the image of the camera: the horizon, the way that the robot takes, and where its feet will stand.
// Frames: base_footprint is level on the ground below the robot, base_link is the body, of the camera x is right, z ahead.

import { placement } from "./leg_geometry.js";

const NEAREST = 0.03; // [m] before the camera; nearer things are cut off
const AHEAD = 4; // [s] of the present velocity
const FARTHEST = 2.5; // [m] of way at most
const SMOOTHING = 500; // [ms] of the measured velocity
const STILL = 0.005; // [m/s, rad/s]
const PIECES = 24; // of the way
const MAX_CYCLE = 8; // [s] between two touch-downs of a foot; a longer time was a rest
const MARK = 0.018; // [m] radius of a foothold
/** @typedef {{at: number[], axes: number[], lens: number[]}} CameraView see camera_feed.py */
/** @typedef {[number, number, number]} Twist vx, vy [m/s], wz [rad/s] */

/**
 * Where base_footprint is after a time with a constant velocity: x, y, yaw.
 * @param {number[]} twist
 * @param {number} time
 */
export function moved([vx, vy, wz], time) {
  const turn = wz * time;
  const [a, b] = Math.abs(turn) < 1e-6 ? [time, (turn * time) / 2] : [Math.sin(turn) / wz, (1 - Math.cos(turn)) / wz];
  return [a * vx - b * vy, b * vx + a * vy, turn];
}

/**
 * @param {number[]} pose x, y, yaw
 * @param {number[]} point x, y
 */
function placed([x, y, yaw], point) {
  const [c, s] = [Math.cos(yaw), Math.sin(yaw)];
  return [x + c * point[0] - s * point[1], y + s * point[0] + c * point[1], 0];
}

/** @param {number[]} twist */
export const moves = (twist) => twist.some((value) => Math.abs(value) > STILL);

// The next footholds, by when and where each foot has come down last: a cycle later it does so again.
export class NextFootholds {
  /** @type {{at: number, cycle: number, place: number[]}[]} */
  feet = [];
  /** @type {number[]} */
  planted = [];
  twist = [0, 0, 0]; // measured, smoothed
  at = -Infinity; // [ms] of the last state

  /**
   * @param {DrawnPose} pose
   * @param {number[] | null} achieved measured velocity
   * @param {number} now [ms]
   */
  update({ planted, legs }, achieved, now) {
    const share = 1 - Math.exp((this.at - now) / SMOOTHING);
    this.twist = this.twist.map((value, i) => value + share * ((achieved?.[i] ?? 0) - value));
    this.at = now;
    planted.forEach((down, leg) => {
      if (!down || this.planted[leg] !== 0) return;
      const last = this.feet[leg];
      this.feet[leg] = { at: now, cycle: last ? (now - last.at) / 1000 : Infinity, place: legs[leg][3] };
    });
    this.planted = planted;
  }

  /**
   * Points in base_footprint where feet come down in the next seconds.
   * @param {number} now [ms]
   */
  predict(now) {
    const { twist } = this;
    const found = [];
    if (!moves(twist)) return [];
    for (const { at, cycle, place } of this.feet.filter(Boolean)) {
      const since = (now - at) / 1000;
      if (cycle > MAX_CYCLE || since > 2 * cycle) continue;
      for (let time = cycle - since; time < AHEAD; time += cycle) if (time > 0) found.push(placed(moved(twist, time), place));
    }
    return found;
  }
}

/**
 * Returns a function that gives the place of a point of base_footprint in the camera's frame, or of a direction.
 * @param {CameraView} view
 * @param {number[]} body height, roll, pitch
 */
export function seen({ at, axes }, body) {
  const [up, none] = [placement(body), placement([0, body[1], body[2]])];
  const columns = [none([1, 0, 0]), none([0, 1, 0]), none([0, 0, 1])]; // axes of base_link in base_footprint
  const origin = up([0, 0, 0]);
  return (/** @type {number[]} */ point, far = false) => {
    const d = far ? point : point.map((value, i) => value - origin[i]);
    const inBase = columns.map((axis, i) => axis[0] * d[0] + axis[1] * d[1] + axis[2] * d[2] - (far ? 0 : at[i]));
    return [0, 1, 2].map((k) => axes[k] * inBase[0] + axes[3 + k] * inBase[1] + axes[6 + k] * inBase[2]);
  };
}

/**
 * The part of a line before the camera, as lines of points in shares of the image.
 * @param {number[][]} points in the camera's frame
 * @param {number[]} lens
 */
export function projected(points, [fx, fy, cx, cy]) {
  const flat = (/** @type {number[]} */ [x, y, z]) => [(fx * x) / z + cx, (fy * y) / z + cy];
  /** @type {number[][][]} */
  const lines = [];
  points.forEach((b, i) => {
    const a = points[i - 1];
    if (!a || (a[2] < NEAREST && b[2] < NEAREST)) return;
    const cut = (/** @type {number[]} */ p, /** @type {number[]} */ q) => (p[2] >= NEAREST ? p : p.map((value, k) => value + ((NEAREST - p[2]) / (q[2] - p[2])) * (q[k] - value)));
    if (a[2] < NEAREST || !lines.length) lines.push([flat(cut(a, b))]);
    lines[lines.length - 1].push(flat(cut(b, a)));
    if (b[2] < NEAREST) lines.push([]);
  });
  return lines.filter((line) => line.length > 1);
}

/**
 * The lines to draw, each with a kind.
 * @param {{view: CameraView, body: number[], twist: number[], width: number, odom: number[], route: number[][], steps: number[][]}} scene
 *   route: in odom; steps: next footholds in base_footprint
 * @returns {[string, number[][]][]}
 */
export function overlay({ view, body, twist, width, odom, route, steps }) {
  const see = seen(view, body);
  /** @type {[string, number[][]][]} */
  const found = [];
  const add = (/** @type {string} */ kind, /** @type {number[][]} */ points, far = false) => {
    for (const line of projected(points.map((point) => see(point, far)), view.lens)) found.push([kind, line]);
  };
  const around = [...Array(25).keys()].map((i) => ((i - 12) * Math.PI) / 26);
  add("horizon", around.map((a) => [Math.cos(a), Math.sin(a), 0]), true);
  if (route.length) add("way", dense([[0, 0, 0], ...route.map(([x, y]) => intoFootprint(odom, x, y))]));
  else if (moves(twist)) {
    const time = Math.min(AHEAD, FARTHEST / (Math.hypot(twist[0], twist[1]) || 0.01));
    const poses = [...Array(PIECES + 1).keys()].map((i) => moved(twist, (i / PIECES) * time));
    for (const side of [-width, width]) add("way", poses.map((pose) => placed(pose, [0, side])));
  }
  for (const [x, y] of steps) add("step", [...Array(11).keys()].map((i) => [x + MARK * Math.cos((i * Math.PI) / 5), y + MARK * Math.sin((i * Math.PI) / 5), 0]));
  return found;
}

/**
 * @param {number[]} odom
 * @param {number} x
 * @param {number} y
 */
function intoFootprint(odom, x, y) {
  const [c, s] = [Math.cos(odom[2]), Math.sin(odom[2])];
  return [c * (x - odom[0]) + s * (y - odom[1]), -s * (x - odom[0]) + c * (y - odom[1]), 0];
}

/** @param {number[][]} points */
function dense(points) {
  return points.flatMap((b, i) => (i ? [...Array(8).keys()].map((k) => b.map((value, n) => points[i - 1][n] + ((k + 1) / 8) * (value - points[i - 1][n]))) : [b]));
}

const STYLES = /** @type {Record<string, {color: string, wide: number, dash: number[]}>} */ ({
  horizon: { color: "#ffffffb0", wide: 1, dash: [8, 6] },
  way: { color: "#4db3ff", wide: 3, dash: [] },
  step: { color: "#ffd23f", wide: 2, dash: [] },
});

/**
 * @param {HTMLCanvasElement} canvas over the whole element of the image
 * @param {number[]} size of the image, which is shown as a whole in its element
 * @param {[string, number[][]][]} lines
 */
export function draw(canvas, size, lines) {
  const [width, height] = [(canvas.width = canvas.clientWidth), (canvas.height = canvas.clientHeight)];
  const scale = Math.min(width / size[0], height / size[1]) || 0;
  const [w, h] = [scale * size[0], scale * size[1]];
  const c = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  c.beginPath();
  c.rect((width - w) / 2, (height - h) / 2, w, h);
  c.clip();
  strokes(c, lines, [(width - w) / 2, (height - h) / 2, w, h]);
}

/**
 * Draws lines into a rectangle.
 * @param {CanvasRenderingContext2D} c
 * @param {[string, number[][]][]} lines
 * @param {number[]} rectangle
 */
export function strokes(c, lines, [left, top, w, h]) {
  for (const [kind, points] of lines) {
    c.beginPath();
    for (const [u, v] of points) c.lineTo(left + u * w, top + v * h);
    const { color, wide, dash } = STYLES[kind];
    c.setLineDash(dash);
    for (const [line, style] of /** @type {[number, string][]} */ ([[wide + 2, "#000a"], [wide, color]])) {
      c.lineWidth = line;
      c.strokeStyle = style;
      c.stroke();
    }
  }
}
