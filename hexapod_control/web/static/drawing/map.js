// SPDX-License-Identifier: Apache-2.0
// The map, in the frame of odometry with the heading of the start upwards: robot, track, what the lidar sees, routes. A tap
// sets a goal, dragging moves the map or draws a path.

import { corners, worldInOdometry } from "./terrain.js";
import { hull } from "./leg_geometry.js";

const CELL = 0.05; // [m] of the obstacles
const MOST_CELLS = 20000;
const FADING = 20000; // [ms] after which an obstacle that is not seen again is drawn lighter
const SIGHT = 3.2; // [m] that is shown at first across the shorter side
const [CLOSEST, FARTHEST] = [0.8, 60]; // [m]
const TAP = 8; // [px] of a tap at most
const NEAR = 24; // [px] between a tap and the place that it chooses
const STEP = 0.1; // [m] of an arrow key, and between two points of a drawn path
const GRID = 0.5; // [m]
/** @type {Record<string, number[]>} */
const ARROWS = { ArrowUp: [1, 0], ArrowDown: [-1, 0], ArrowLeft: [0, 1], ArrowRight: [0, -1] };

export class RouteMap {
  /** @type {number[][]} */
  draft = []; // what the person has marked: a goal, or a path [x, y]
  /** @type {number[][]} */
  route = []; // what the robot still has to walk
  /** @type {{name: string, points: number[][]}[]} */
  places = [];
  /** @type {number[] | null} */
  center = null; // [m]; null follows the robot
  sight = SIGHT;
  draws = false; // dragging draws a path
  stale = true;

  /**
   * `marked(name)` is called when the person has changed the draft, with the name of the place that was chosen, or "".
   * @param {HTMLCanvasElement} canvas
   * @param {import("./projections.js").Projections} projections
   * @param {(name: string) => void} marked
   * @param {() => void} confirmed by the enter key
   */
  constructor(canvas, projections, marked, confirmed) {
    this.canvas = canvas;
    this.projections = projections;
    this.marked = marked;
    /** @type {Map<string, {x: number, y: number, seen: number}>} */
    this.cells = new Map();
    /** @type {Map<number, number[]>} */
    this.fingers = new Map(); // positions [px]
    this.moved = 0; // [px] of the present stroke
    for (const kind of /** @type {const} */ (["pointerdown", "pointermove", "pointerup", "pointercancel"])) canvas.addEventListener(kind, (event) => this[kind](event));
    canvas.addEventListener("wheel", (event) => (event.preventDefault(), this.zoom(event.deltaY > 0 ? 1.15 : 1 / 1.15)), { passive: false });
    canvas.addEventListener("keydown", (event) => {
      const way = ARROWS[event.key];
      if (event.key === "Enter") confirmed();
      if (!way) return;
      event.preventDefault();
      const [x, y] = this.draft.at(-1) ?? this.robot;
      const step = event.shiftKey ? 5 * STEP : STEP;
      this.mark([[x + step * way[0], y + step * way[1]]]);
    });
    new ResizeObserver(() => (this.stale = true)).observe(canvas);
  }

  // Position and heading of the robot.
  get robot() {
    return this.projections.pose?.odom ?? [0, 0, 0];
  }

  get scale() {
    return Math.min(this.canvas.clientWidth, this.canvas.clientHeight) / this.sight; // [px/m]
  }

  /**
   * @param {number[][]} points
   * @param {string} [name]
   */
  mark(points, name = "") {
    this.draft = points;
    this.stale = true;
    this.marked(name);
  }

  /** @param {number} factor */
  zoom(factor) {
    this.sight = Math.max(CLOSEST, Math.min(FARTHEST, this.sight * factor));
    this.stale = true;
  }

  follow() {
    this.center = null;
    this.sight = SIGHT;
    this.stale = true;
  }

  /**
   * Takes the points [m] of a scan.
   * @param {number[][]} points
   */
  see(points) {
    const seen = performance.now();
    for (const [x, y] of points) {
      const key = `${Math.round(x / CELL)} ${Math.round(y / CELL)}`;
      if (this.cells.size < MOST_CELLS || this.cells.has(key)) this.cells.set(key, { x, y, seen });
    }
    this.stale = true;
  }

  forget() {
    this.cells.clear();
    this.stale = true;
  }

  // --- strokes ---------------------------------------------------------------------------------------------------------

  /** @param {PointerEvent} event */
  pointerdown(event) {
    if (event.button) return;
    this.canvas.setPointerCapture(event.pointerId);
    this.fingers.set(event.pointerId, spot(event));
    this.moved = this.fingers.size > 1 ? Infinity : 0; // two fingers never tap
    if (this.draws && this.fingers.size === 1) this.stroke = [this.place(spot(event))];
  }

  /** @param {PointerEvent} event */
  pointermove(event) {
    const before = this.fingers.get(event.pointerId);
    if (!before) return;
    const now = spot(event);
    this.moved += Math.hypot(now[0] - before[0], now[1] - before[1]);
    if (this.moved < TAP) return;
    const others = [...this.fingers].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
    this.fingers.set(event.pointerId, now);
    if (others.length) return this.zoom(Math.hypot(before[0] - others[0][0], before[1] - others[0][1]) / Math.max(1, Math.hypot(now[0] - others[0][0], now[1] - others[0][1])));
    if (this.stroke) return this.extend(this.place(now));
    const [x, y] = this.center ?? this.robot;
    this.center = [x + (now[1] - before[1]) / this.scale, y + (now[0] - before[0]) / this.scale];
    this.stale = true;
  }

  /** @param {PointerEvent} event */
  pointerup(event) {
    if (!this.fingers.delete(event.pointerId) || this.fingers.size) return;
    const drawn = this.stroke;
    this.stroke = undefined;
    if (drawn && drawn.length > 1) return this.mark(simplified(drawn));
    if (this.moved >= TAP) return;
    const at = spot(event);
    const near = this.places.filter(({ points }) => points.length === 1).find(({ points }) => Math.hypot(this.at(points[0])[0] - at[0], this.at(points[0])[1] - at[1]) < NEAR);
    this.mark(near ? near.points : [this.place(at)], near?.name);
  }

  /** @param {PointerEvent} event */
  pointercancel(event) {
    this.fingers.delete(event.pointerId);
    this.stroke = undefined;
  }

  /** @param {number[]} point */
  extend(point) {
    const last = this.stroke?.at(-1);
    if (!last || Math.hypot(point[0] - last[0], point[1] - last[1]) < STEP / 2) return;
    this.stroke?.push(point);
    this.stale = true;
  }

  // --- drawing ---------------------------------------------------------------------------------------------------------

  /**
   * From metres to pixels: x is up, y to the left.
   * @param {number[]} point
   * @returns {[number, number]}
   */
  at([x, y]) {
    const [cx, cy] = this.center ?? this.robot;
    return [this.canvas.clientWidth / 2 - (y - cy) * this.scale, this.canvas.clientHeight / 2 - (x - cx) * this.scale];
  }

  /**
   * From pixels to metres.
   * @param {number[]} spot
   */
  place([px, py]) {
    const [cx, cy] = this.center ?? this.robot;
    return [cx + (this.canvas.clientHeight / 2 - py) / this.scale, cy + (this.canvas.clientWidth / 2 - px) / this.scale];
  }

  draw() {
    const { canvas, projections } = this;
    const { clientWidth: width, clientHeight: height } = canvas;
    if (!width || !height || !projections.pose || (!this.stale && this.drawn === projections.pose)) return;
    this.stale = false;
    this.drawn = projections.pose;
    const ratio = Math.min(devicePixelRatio || 1, 2);
    [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
    const c = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    c.scale(ratio, ratio);
    c.lineJoin = c.lineCap = "round";
    c.font = "600 12px system-ui, sans-serif";
    this.drawGround(c, width, height);
    this.drawObstacles(c);
    const { accent, muted, good } = projections.colors;
    this.line(c, (projections.path?.points ?? []), muted, 2);
    for (const { name, points } of this.places) {
      if (points.length > 1) this.line(c, points, good, 1.5, [2, 5]);
      this.drawPlace(c, points[points.length - 1], good, name);
    }
    this.drawPlace(c, [0, 0], muted, "⌂");
    this.drawRobot(c);
    const marked = this.stroke ?? this.draft;
    if (this.route.length) this.drawWay(c, [this.robot, ...this.route], accent);
    if (marked.length) this.drawWay(c, marked.length > 1 ? marked : [this.robot, ...marked], accent);
  }

  /**
   * @param {CanvasRenderingContext2D} c
   * @param {number} width
   * @param {number} height
   */
  drawGround(c, width, height) {
    const [[top, left], [bottom, right]] = [this.place([0, 0]), this.place([width, height])];
    const grid = GRID * Math.max(1, 2 ** Math.round(Math.log2(this.sight / 8)));
    const { colors } = this.projections;
    c.strokeStyle = colors.grid;
    c.lineWidth = 1;
    c.beginPath();
    for (let x = Math.ceil(bottom / grid) * grid; x <= top; x += grid) c.moveTo(0, this.at([x, 0])[1]), c.lineTo(width, this.at([x, 0])[1]);
    for (let y = Math.ceil(right / grid) * grid; y <= left; y += grid) c.moveTo(this.at([0, y])[0], 0), c.lineTo(this.at([0, y])[0], height);
    c.stroke();
    c.fillStyle = c.strokeStyle = colors.muted;
    c.textAlign = "left";
    c.fillText(`${grid} m`, 12, 70);
    c.beginPath();
    c.moveTo(12, 76);
    c.lineTo(12 + grid * this.scale, 76);
    c.stroke();
  }

  // The boxes of a simulated world, and what the lidar has seen.
  /** @param {CanvasRenderingContext2D} c */
  drawObstacles(c) {
    const { projections } = this;
    const { odom, truth } = projections.state ?? { odom: null, truth: null };
    const [x0, y0, turn] = worldInOdometry(odom, truth);
    const [cos, sin] = [Math.cos(turn), Math.sin(turn)];
    c.fillStyle = projections.colors.muted;
    c.globalAlpha = 0.25;
    for (const box of odom ? projections.terrain.boxes : []) {
      const points = corners(box).slice(4).map(([x, y]) => this.at([x0 + cos * x - sin * y, y0 + sin * x + cos * y]));
      trace(c, points);
      c.fill();
    }
    const size = Math.max(2, CELL * this.scale);
    const now = performance.now();
    c.fillStyle = projections.colors.text;
    for (const { x, y, seen } of this.cells.values()) {
      const [px, py] = this.at([x, y]);
      c.globalAlpha = now - seen > FADING ? 0.3 : 0.75;
      c.fillRect(px - size / 2, py - size / 2, size, size);
    }
    c.globalAlpha = 1;
  }

  /** @param {CanvasRenderingContext2D} c */
  drawRobot(c) {
    const { pose, legs, colors } = this.projections;
    const [x, y, yaw] = this.robot;
    const [cos, sin] = [Math.cos(yaw), Math.sin(yaw)];
    const at = (/** @type {number[]} */ [fx, fy]) => this.at([x + cos * fx - sin * fy, y + sin * fx + cos * fy]);
    pose.legs.forEach((points, i) => {
      c.strokeStyle = legs[i % 6];
      c.lineWidth = 2.5;
      trace(c, points.map(at));
      c.stroke();
    });
    c.fillStyle = colors.body;
    trace(c, hull(pose.box.map(at)));
    c.fill();
    const [px, py] = this.at([x, y]);
    const size = Math.max(9, 0.07 * this.scale);
    c.fillStyle = colors.accent;
    c.save();
    c.translate(px, py);
    c.rotate(-yaw);
    trace(c, [[0, -size], [0.7 * size, 0.7 * size], [0, 0.35 * size], [-0.7 * size, 0.7 * size]]);
    c.fill();
    c.restore();
  }

  /**
   * A way that is still to be walked, with a flag at its end.
   * @param {CanvasRenderingContext2D} c
   * @param {number[][]} points
   * @param {string} color
   */
  drawWay(c, points, color) {
    this.line(c, points, color, 3, [7, 6]);
    const [x, y] = this.at(points[points.length - 1]);
    c.strokeStyle = c.fillStyle = color;
    trace(c, [[x, y], [x, y - 24]]);
    c.stroke();
    trace(c, [[x, y - 24], [x + 15, y - 19], [x, y - 13]]);
    c.fill();
  }

  /**
   * @param {CanvasRenderingContext2D} c
   * @param {number[]} point
   * @param {string} color
   * @param {string} name
   */
  drawPlace(c, point, color, name) {
    const [x, y] = this.at(point);
    c.fillStyle = color;
    c.beginPath();
    c.arc(x, y, 5, 0, 2 * Math.PI);
    c.fill();
    c.textAlign = "center";
    c.fillText(name, x, y + 18);
  }

  /**
   * @param {CanvasRenderingContext2D} c
   * @param {number[][]} points
   * @param {string} color
   * @param {number} width
   * @param {number[]} [dashes]
   */
  line(c, points, color, width, dashes = []) {
    c.strokeStyle = color;
    c.lineWidth = width;
    c.setLineDash(dashes);
    trace(c, points.map((point) => this.at(point)));
    c.stroke();
    c.setLineDash([]);
  }
}

/** @param {PointerEvent} event */
function spot(event) {
  return [event.offsetX, event.offsetY];
}

/**
 * @param {CanvasRenderingContext2D} c
 * @param {number[][]} points
 */
function trace(c, points) {
  c.beginPath();
  points.forEach(([x, y], i) => (i ? c.lineTo(x, y) : c.moveTo(x, y)));
}

/** @param {number[][]} points */
export function length(points) {
  return points.slice(1).reduce((sum, [x, y], i) => sum + Math.hypot(x - points[i][0], y - points[i][1]), 0);
}

/**
 * The points of a path without those that lie closer than `tolerance` [m] to the line between their neighbours; at most
 * `most` of them.
 * @param {number[][]} points
 * @param {number} [tolerance]
 * @param {number} [most]
 * @returns {number[][]}
 */
export function simplified(points, tolerance = 0.02, most = 200) {
  const kept = between(points, tolerance);
  return kept.length > most ? simplified(points, 2 * tolerance, most) : kept;
}

/**
 * @param {number[][]} points
 * @param {number} tolerance
 * @returns {number[][]}
 */
function between(points, tolerance) {
  if (points.length < 3) return points;
  const [[ax, ay], [bx, by]] = [points[0], points[points.length - 1]];
  const span = Math.hypot(bx - ax, by - ay);
  const off = points.map(([x, y]) => (span > tolerance ? Math.abs((bx - ax) * (y - ay) - (by - ay) * (x - ax)) / span : Math.hypot(x - ax, y - ay)));
  const far = off.indexOf(Math.max(...off));
  if (off[far] <= tolerance) return [points[0], points[points.length - 1]];
  return [...between(points.slice(0, far + 1), tolerance), ...between(points.slice(far), tolerance).slice(1)];
}
