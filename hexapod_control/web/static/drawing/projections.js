// SPDX-License-Identifier: Apache-2.0
// Four 2D views (front, side, top, isometric) with legs, foot traces, support polygon and center of rotation.

import { Terrain, corners, groundBelow } from "./terrain.js";
import { interpolate, BOX_EDGES, hull, pose, turnCenter } from "./leg_geometry.js";

const TRACE_LENGTH = 50; // positions per foot
const GRID = 0.1; // [m]
/** @type {Record<string, number[]>} */
const EXTENTS = { front: [1.5, 0.72], side: [1.5, 0.72], top: [1.9, 1.9], iso: [2.2, 1.6] }; // of a view over the reach
const MAX_GAP = 200; // [ms] between two states; longer gaps are not interpolated
const ISOMETRIC = [Math.cos(Math.PI / 6), Math.sin(Math.PI / 6)];
/** @type {Record<string, (point: number[]) => number[]>} */
const PROJECTIONS = {
  front: ([, y, z]) => [-y, z], // seen from behind, so that left is left
  side: ([x, , z]) => [x, z],
  top: ([x, y]) => [-y, x],
  iso: ([x, y, z]) => [(x - y) * ISOMETRIC[0], (x + y) * ISOMETRIC[1] * 0.9 + z],
};

export class Projections {
  receivedAt = NaN; // [ms] time of the last state
  updatedAt = NaN; // [ms] time of the last one with another picture
  /** @type {Shape | null} */
  robot = null;
  reach = 1; // [m] that is drawn around the middle of the robot
  /** @type {RobotState | null} */
  before = null;
  /** @type {RobotState | null} */
  state = null;
  shown = ""; // of the state, as far as it is drawn
  /** @type {DrawnPose} */
  pose = /** @type {any} */ (undefined); // until the first state: nothing is drawn before
  /** @type {Record<string, string>} */
  colors = {};
  /** @type {string[]} */
  legs = []; // colours
  /** @type {number[][][]} */
  traces = []; // of each foot
  /** @type {import("./path.js").Path | null} */
  path = null;
  /** @type {(string[] | null)[]} */
  heat = []; // of each leg: the colours of its joints by temperature
  /** @type {Record<string, number[] | null>} */
  drag = { top: null, front: null }; // position [px] of a drag, drawn over the view
  /** @type {Record<string, number>} */
  scale = {}; // [px/m] of each view
  /** @type {Record<string, (point: number[]) => [number, number]>} */
  places = {}; // of each view: the place [px] of a point
  stale = true;

  /** @param {ParentNode} root */
  constructor(root) {
    const found = Object.keys(PROJECTIONS).map((name) => [name, /** @type {HTMLCanvasElement} */ (root.querySelector(`#view-${name}`))]);
    this.canvases = Object.fromEntries(found.filter(([, canvas]) => canvas)); // a page may have only some of them
    this.terrain = new Terrain();
    this.frames = 0;
    this.period = 33; // [ms] between two states, smoothed
    this.drawn = 1; // interpolation factor that was drawn last; 1 is the newest state
    this.restyle();
    this.observer = new ResizeObserver(() => (this.stale = true));
    for (const canvas of Object.values(this.canvases)) this.observer.observe(canvas);
  }

  restyle() {
    const style = getComputedStyle(document.documentElement);
    const color = (/** @type {string} */ name) => style.getPropertyValue(`--${name}`).trim();
    this.colors = Object.fromEntries(["grid", "line", "muted", "text", "body", "support", "accent", "warn", "bad", "good", "panel"].map((n) => [n, color(n)]));
    this.legs = [...Array(6).keys()].map((i) => color(`leg-${i}`));
    this.stale = true;
  }

  /** @param {Shape} shape */
  shape(shape) {
    this.robot = shape;
    this.reach = Math.max(...shape.legs.map((leg) => Math.hypot(...leg.foothold))) * 1.3;
    this.traces = shape.legs.map(() => []);
  }

  /**
   * Takes a new state; until the next one arrives, the drawing is interpolated from the previous state to this one.
   * @param {RobotState} state
   */
  update(state) {
    if (!this.robot || !state.joints) return;
    const now = performance.now();
    const gap = this.receivedAt ? now - this.receivedAt : 0;
    this.receivedAt = now;
    this.period += 0.1 * (Math.min(gap, MAX_GAP) - this.period);
    const { joints, body, mass, planted, margin, commanded, odom, truth } = state;
    const shown = JSON.stringify([joints, body, mass, planted, margin, commanded, odom, truth]);
    if (shown === this.shown) return; // at rest, nothing is drawn again
    [this.shown, this.updatedAt, this.before, this.state] = [shown, now, gap < MAX_GAP ? this.state : null, state];
    this.pose = pose(this.robot, state);
    this.pose.legs.forEach((points, i) => {
      this.traces[i].push(points[3]);
      if (this.traces[i].length > TRACE_LENGTH) this.traces[i].shift();
    });
    this.stale = true;
  }

  /**
   * The next state is not a continuation of the last one; it has another path.
   * @param {import("./path.js").Path} path
   */
  restart(path) {
    this.path = path;
    this.before = this.state = null;
    this.shown = "";
    for (const trace of this.traces) trace.length = 0;
    this.stale = true;
  }

  /** @param {number} now */
  draw(now) {
    const share = this.before ? Math.min(1, (now - this.updatedAt) / this.period) : 1;
    if ((!this.stale && this.drawn === 1) || !this.pose) return;
    this.stale = false;
    this.drawn = share;
    this.frames++;
    if (this.robot && this.state) this.pose = pose(this.robot, interpolate(this.before ?? this.state, this.state, Math.max(0, share)));
    for (const [name, canvas] of Object.entries(this.canvases)) this.drawView(name, canvas);
  }

  /**
   * @param {string} name
   * @param {HTMLCanvasElement} canvas
   */
  drawView(name, canvas) {
    const width = canvas.clientWidth;
    const height = canvas.clientHeight;
    if (!width || !height) return;
    const ratio = Math.min(devicePixelRatio || 1, 2);
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    const c = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, width, height);
    const flat = name === "front" || name === "side";
    const [wide, tall] = EXTENTS[name];
    const scale = Math.min(width / (wide * this.reach), height / (tall * this.reach));
    const origin = [width / 2, flat ? height / 2 + 0.24 * tall * this.reach * scale : name === "iso" ? height * 0.6 : height / 2];
    const project = PROJECTIONS[name];
    const at = (/** @type {number[]} */ point) => {
      const [u, v] = project(point);
      return /** @type {[number, number]} */ ([origin[0] + u * scale, origin[1] - v * scale]);
    };
    [this.scale[name], this.places[name]] = [scale, at];
    const view = { c, at, width, height, scale, name };
    if (flat) this.drawGround(view);
    else {
      this.drawGrid(view);
      this.drawTerrain(view);
      this.drawPath(view);
    }
    if (!flat) this.drawSupport(view);
    this.drawTraces(view);
    this.drawBody(view);
    this.pose.legs.forEach((points, i) => this.drawLeg(view, points, i));
    this.drawMass(view);
    if (name === "top") this.drawTurn(view);
    this.drawDrag(view);
  }

  // Returns a function from base_footprint to the world, and the height of the ground below the robot.
  world() {
    const [x, y, yaw] = this.state?.truth ?? this.pose.odom;
    const [c, s] = [Math.cos(yaw), Math.sin(yaw)];
    const feet = this.pose.legs.filter((_, i) => this.pose.planted[i]).map((points) => points[3]);
    const { height } = groundBelow(this.terrain, [x, y, yaw], feet);
    return { x, y, height, to: (/** @type {number} */ fx, /** @type {number} */ fy) => [x + c * fx - s * fy, y + s * fx + c * fy], from: (/** @type {number} */ wx, /** @type {number} */ wy) => [c * (wx - x) + s * (wy - y), -s * (wx - x) + c * (wy - y)] };
  }

  /**
   * The section of the ground below the robot, for the front and side views.
   * @param {View} view
   */
  drawSection({ c, at, name, width, height }) {
    const world = this.world();
    const points = [];
    for (let share = -1; share <= 1; share += 1 / 60) {
      const along = share * this.reach * 1.6;
      const [fx, fy] = name === "side" ? [along, 0] : [0, along];
      const [wx, wy] = world.to(fx, fy);
      points.push(at([fx, fy, Math.max(-0.2, this.terrain.height(wx, wy) - world.height)]));
    }
    c.fillStyle = this.colors.grid;
    c.strokeStyle = this.colors.muted;
    c.lineWidth = 1.5;
    path(c, [...points, [points[points.length - 1][0], height], [points[0][0], height]], true);
    c.fill();
    path(c, points, false);
    c.stroke();
  }

  /**
   * The tops of the boxes of the ground, the higher the darker.
   * @param {View} view
   */
  drawTerrain({ c, at }) {
    if (this.terrain.flat) return;
    const world = this.world();
    c.fillStyle = this.colors.muted;
    for (const box of this.terrain.near(world.x, world.y, this.reach * 1.6)) {
      const points = corners(box).slice(4).map(([x, y, z]) => at([...world.from(x, y), z - world.height]));
      c.globalAlpha = Math.max(0.06, Math.min(0.6, 0.3 + 8 * (box[2] + box[7] - world.height)));
      path(c, points, true);
      c.fill();
    }
    c.globalAlpha = 1;
  }

  /**
   * The path of the robot and its footprints.
   * @param {View} view
   */
  drawPath({ c, at }) {
    if (!this.path || this.path.points.length < 2) return;
    const [x, y, yaw] = this.pose.odom;
    const [cos, sin] = [Math.cos(yaw), Math.sin(yaw)];
    const local = (/** @type {number[]} */ [wx, wy]) => at([cos * (wx - x) + sin * (wy - y), -sin * (wx - x) + cos * (wy - y), 0]);
    c.strokeStyle = this.colors.accent;
    c.globalAlpha = 0.6;
    c.lineWidth = 1.5;
    path(c, this.path.points.slice(-400).map(local), false);
    c.stroke();
    for (const print of this.path.prints.slice(-60)) {
      c.fillStyle = this.legs[print[2] % 6];
      disc(c, local(print), 1.8);
    }
    c.globalAlpha = 1;
  }

  /** @param {View} view */
  drawGround(view) {
    if (!this.terrain.flat) return this.drawSection(view);
    const { c, at, width } = view;
    const y = at([0, 0, 0])[1];
    c.strokeStyle = this.colors.muted;
    c.lineWidth = 1.5;
    line(c, [0, y], [width, y]);
  }

  /**
   * Draws a grid that is fixed in the world, so that it moves under the robot when it walks.
   * @param {View} view
   */
  drawGrid({ c, at }) {
    const [x, y, yaw] = this.pose.odom;
    const cos = Math.cos(yaw);
    const sin = Math.sin(yaw);
    const local = (/** @type {number} */ wx, /** @type {number} */ wy) => at([cos * (wx - x) + sin * (wy - y), -sin * (wx - x) + cos * (wy - y), 0]);
    const reach = this.reach * 2.2;
    const n = Math.ceil(reach / GRID);
    const cx = Math.round(x / GRID);
    const cy = Math.round(y / GRID);
    c.lineWidth = 1;
    c.strokeStyle = this.colors.grid;
    c.beginPath();
    for (let i = -n; i <= n; i++) {
      c.moveTo(...local((cx + i) * GRID, (cy - n) * GRID));
      c.lineTo(...local((cx + i) * GRID, (cy + n) * GRID));
      c.moveTo(...local((cx - n) * GRID, (cy + i) * GRID));
      c.lineTo(...local((cx + n) * GRID, (cy + i) * GRID));
    }
    c.stroke();
  }

  /** @param {View} view */
  drawSupport({ c, at }) {
    const feet = this.pose.legs.filter((_, i) => this.pose.planted[i]).map((points) => points[3]);
    if (feet.length < 3) return;
    const inside = this.pose.margin === null || this.pose.margin > 0;
    c.strokeStyle = c.fillStyle = inside ? this.colors.support : this.colors.bad;
    path(c, hull(feet.map(([x, y]) => [x, y])).map(([x, y]) => at([x, y, 0])), true);
    c.globalAlpha = 0.12;
    c.fill();
    c.globalAlpha = 0.7;
    c.lineWidth = 1.5;
    c.setLineDash([5, 4]);
    c.stroke();
    c.setLineDash([]);
    c.globalAlpha = 1;
  }

  /** @param {View} view */
  drawTraces({ c, at }) {
    c.lineWidth = 1.5;
    this.traces.forEach((trace, i) => {
      c.strokeStyle = this.legs[i % 6];
      const points = trace.map(at);
      for (let k = 1; k < points.length; k += 2) {
        c.globalAlpha = 0.75 * (k / TRACE_LENGTH);
        path(c, points.slice(k - 1, k + 2), false);
        c.stroke();
      }
    });
    c.globalAlpha = 1;
  }

  /** @param {View} view */
  drawBody({ c, at, name }) {
    const corners = this.pose.box.map(at);
    c.strokeStyle = this.colors.body;
    c.fillStyle = this.colors.body;
    c.lineWidth = 1.5;
    path(c, hull(corners), true);
    c.globalAlpha = 0.14;
    c.fill();
    c.globalAlpha = 1;
    for (const [i, j] of BOX_EDGES) line(c, corners[i], corners[j]);
    if (name === "top" || name === "iso") {
      const nose = [6, 7, 4, 5].map((i) => this.pose.box[i]);
      const front = [0, 1, 2].map((k) => (nose[0][k] + nose[1][k] + nose[2][k] + nose[3][k]) / 4);
      c.fillStyle = this.colors.accent;
      c.beginPath();
      c.arc(...at(front), 4, 0, 2 * Math.PI);
      c.fill();
    }
  }

  /**
   * @param {View} view
   * @param {number[][]} points
   * @param {number} i
   */
  drawLeg({ c, at }, points, i) {
    const [hip, coxa, knee, foot] = points.map(at);
    c.strokeStyle = this.colors.body;
    c.lineWidth = 2;
    line(c, at(this.pose.mounts[i]), hip);
    c.strokeStyle = c.fillStyle = this.legs[i % 6];
    c.lineCap = c.lineJoin = "round";
    c.lineWidth = 3.5;
    path(c, [hip, coxa, knee], false);
    c.stroke();
    c.lineWidth = 2.5;
    path(c, [knee, foot], false);
    c.stroke();
    for (const joint of [coxa, knee]) disc(c, joint, 2.5);
    this.heat[i]?.forEach((name, k) => {
      c.fillStyle = this.colors[name];
      disc(c, [hip, coxa, knee][k], 6);
    });
    c.fillStyle = this.legs[i % 6];
    if (this.pose.planted[i]) disc(c, foot, 5);
    else {
      c.fillStyle = this.colors.panel;
      c.lineWidth = 2;
      disc(c, foot, 5.5);
      c.stroke();
    }
  }

  /** @param {View} view */
  drawMass({ c, at, name }) {
    const flat = name === "front" || name === "side";
    const [x, y] = at(flat ? this.pose.mass : [this.pose.mass[0], this.pose.mass[1], 0]);
    c.strokeStyle = this.colors.text;
    c.fillStyle = this.colors.panel;
    c.lineWidth = 1.5;
    disc(c, [x, y], 5);
    c.stroke();
    line(c, [x - 5, y], [x + 5, y]);
    line(c, [x, y - 5], [x, y + 5]);
  }

  /** @param {View} view */
  drawTurn({ c, at, width, height }) {
    const center = turnCenter(this.pose.commanded);
    if (!center) return;
    const [x, y] = at([...center, 0]);
    const px = Math.min(Math.max(x, 12), width - 12);
    const py = Math.min(Math.max(y, 28), height - 12);
    c.strokeStyle = c.fillStyle = this.colors.accent;
    c.lineWidth = 1;
    c.setLineDash([3, 4]);
    line(c, at([0, 0, 0]), [px, py]);
    c.setLineDash([]);
    disc(c, [px, py], 4);
    c.lineWidth = 1.5;
    c.beginPath();
    c.arc(px, py, 9, 0, 2 * Math.PI);
    if (px === x && py === y) c.stroke();
  }

  /** @param {View} view */
  drawDrag({ c, name, width, height }) {
    const drag = this.drag[name];
    if (!drag) return;
    c.strokeStyle = c.fillStyle = this.colors.accent;
    c.globalAlpha = 0.9;
    c.lineWidth = 2.5;
    if (name === "top") {
      line(c, [width / 2, height / 2], drag);
      disc(c, drag, 7);
    } else {
      line(c, [12, drag[1]], [width - 12, drag[1]]);
    }
    c.globalAlpha = 1;
  }
}

/**
 * @param {CanvasRenderingContext2D} c
 * @param {number[][]} points
 * @param {boolean} closed
 */
function path(c, points, closed) {
  c.beginPath();
  points.forEach(([x, y], i) => (i ? c.lineTo(x, y) : c.moveTo(x, y)));
  if (closed) c.closePath();
}

/**
 * @param {CanvasRenderingContext2D} c
 * @param {number[]} from
 * @param {number[]} to
 */
function line(c, from, to) {
  path(c, [from, to], false);
  c.stroke();
}

/**
 * @param {CanvasRenderingContext2D} c
 * @param {number[]} place
 * @param {number} radius
 */
function disc(c, [x, y], radius) {
  c.beginPath();
  c.arc(x, y, radius, 0, 2 * Math.PI);
  c.fill();
}
