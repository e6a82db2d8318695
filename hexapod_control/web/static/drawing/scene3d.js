// SPDX-License-Identifier: Apache-2.0
// 3D view of the URDF in plain WebGL; the module is loaded when the view is first shown. The pixels are drawn in a worker, so
// that a slow frame delays no input.

import { gridLines, MESHES } from "./meshes.js";
import { look, multiply, rigid } from "./matrices.js";
import { t } from "../texts/texts.js";
import { hull } from "./leg_geometry.js";
import { OrbitCamera } from "./orbit.js";
import { KINDS, painted } from "./painter.js";
import { PaintedElsewhere } from "./painted_elsewhere.js";
import { ribbon, squares } from "./path.js";
import { RobotMesh } from "./robot_mesh.js";
import { Terrain, groundBelow, triangles, worldInOdometry } from "./terrain.js";
import { readUrdf } from "./urdf.js";

const REBUILT = 0.3; // [m] after which the ground around the robot is loaded again
const LINE = 0.006; // [m] width of the path and of the support polygon
const PRINTS = 60; // footprints that are drawn
const GROUND = 6; // [m] half size of the plane
const GRID = 0.5; // [m] by which the plane follows the robot
const MIN_PERIOD = 30; // [ms] between two frames without a GPU
const PAUSE = 2; // ratio of the period to the drawing time of a frame: the rest is left to other programs
const MAX_COST = 18; // [ms] of a frame, above which the resolution is lowered
const SLOW = 250; // [ms] of a frame at the lowest resolution, above which another picture is better
const MAX_SLOW = 3; // such frames in a row
const MAX_WAIT = 3000; // [ms] for a frame
const LONGEST_LOOK = 250; // [ms] between two looks: a page that slept has not waited
const MIN_RESOLUTION = 0.6; // below it lines of the path and of the support polygon have gaps
const FROM_ABOVE = 0.8; // [rad] elevation of the camera from which it sees the robot rather from above
const CIRCLE = [...Array(12).keys()].map((i) => [Math.cos((Math.PI * i) / 6), Math.sin((Math.PI * i) / 6)]);

/** @typedef {import("./painted_elsewhere.js").Mesh} Mesh */

export class Scene3d {
  /** @type {string | undefined} */
  shown;
  /** @type {any} */
  state;
  /** @type {any} */
  pose;
  /** @type {import("./robot_mesh.js").Link | null} */
  root = null;
  /** @type {RobotMesh | null} */
  robot = null;
  /** @type {Mesh[]} */
  links = []; // of the robot, in groups that are drawn at once
  /** @type {{plane?: Mesh, grid?: Mesh, way?: Mesh, support?: Mesh}} */
  meshes = {};
  /** @type {Mesh | null} */
  earthMesh = null;
  /** @type {number[] | null} */
  loadedAt = null; // place of the robot when the ground was loaded
  /** @type {import("./path.js").Path | null} */
  path = null;
  wayShown = ""; // of the path and the footprints that are loaded
  row = new Map(); // of each joint
  terrain = new Terrain();
  stale = true;
  frames = 0;
  drawn = 0; // [ms]
  software = false; // whether it is drawn without a GPU
  cost = 0; // [ms] of a frame, smoothed
  tolerated = SLOW; // [ms] of a frame
  slow = 0; // frames in a row that were slower
  waited = 0; // [ms] for the present frame
  lookedAt = 0; // [ms]
  /** @type {Float32Array | null} */
  screen = null; // from base_footprint to the clip space of the last frame
  resolution = 1; // share of the screen's pixels along each axis

  /**
   * `gaveWay(key)` is called when the browser cannot draw it, or only slowly; `key` is that of the text that says so.
   * @param {HTMLCanvasElement} canvas
   * @param {HTMLElement} note
   * @param {(key: string) => void} [gaveWay]
   */
  constructor(canvas, note, gaveWay = () => {}) {
    this.canvas = canvas;
    this.note = note;
    this.gaveWay = gaveWay;
    this.say("orbit");
    /** @type {PaintedElsewhere | null} */
    this.painter = new PaintedElsewhere(canvas, (frame) => this.drew(frame), () => this.missing());
    this.camera = new OrbitCamera(canvas, () => (this.stale = true));
    this.restyle();
  }

  /** @param {string} key */
  say(key) {
    this.note.dataset.t = key;
    this.note.textContent = t(key);
  }

  missing() {
    this.painter = null;
    this.say("no_webgl");
    this.gaveWay("no_webgl");
  }

  /** @param {{software: boolean, cost: number}} frame */
  drew({ software, cost }) {
    this.software = software;
    this.cost += 0.2 * (cost - this.cost);
    this.slow = cost > this.tolerated && this.resolution <= MIN_RESOLUTION ? this.slow + 1 : 0;
    if (this.slow >= MAX_SLOW) this.giveWay();
  }

  giveWay() {
    [this.slow, this.waited] = [0, 0];
    this.gaveWay("slow_3d");
  }

  restyle() {
    const dark = document.documentElement.dataset.theme === "dark";
    const ground = dark ? [0.16, 0.19, 0.23] : [0.93, 0.945, 0.96];
    this.earth = dark ? [0.27, 0.32, 0.38] : [0.8, 0.83, 0.87];
    this.wayColor = dark ? [0.4, 0.66, 0.92] : [0.12, 0.41, 0.69];
    this.supportColor = dark ? [0.34, 0.78, 0.55] : [0.11, 0.49, 0.29];
    this.shade = ground.map((value) => 0.82 * value);
    this.lift = dark ? 0.16 : 0; // brightens dark parts of a robot against a dark ground
    [this.loadedAt, this.wayShown, this.stale] = [null, "", true];
    if (!this.painter) return;
    this.loadMesh("plane", painted(MESHES.plane.map((value, i) => (i % 6 < 2 ? GROUND * value : value)), ground));
    this.loadMesh("grid", painted(gridLines(), dark ? [0.24, 0.29, 0.35] : [0.81, 0.84, 0.88]));
    this.loadRobot();
  }

  /**
   * @param {"plane" | "grid" | "way" | "support"} name
   * @param {Float32Array} vertices
   */
  loadMesh(name, vertices) {
    this.meshes[name] = this.painter?.load(vertices, this.meshes[name]);
  }

  /**
   * @param {string} text
   * @param {string[]} names of the joints, in the order of a state
   */
  setUrdf(text, names) {
    this.root = readUrdf(text);
    this.row = new Map(names.map((name, i) => [name, i]));
    this.loadRobot();
    this.stale = true;
  }

  loadRobot() {
    const { painter } = this;
    if (!this.root || !painter) return;
    this.robot = new RobotMesh(this.root, this.lift ?? 0);
    this.links = this.robot.vertices.map((vertices, group) => painter.loadShared(vertices, this.links[group]));
  }

  /**
   * Takes a state, and its drawn pose with the feet in base_footprint.
   * @param {any} state
   * @param {any} pose
   */
  update(state, pose) {
    if (!state.joints) return;
    const shown = JSON.stringify([state.joints, state.odom, state.body]);
    if (shown === this.shown) return;
    [this.shown, this.state, this.pose, this.stale] = [shown, state, pose, true];
  }

  /** @param {Terrain} terrain */
  setTerrain(terrain) {
    [this.terrain, this.loadedAt, this.stale] = [terrain, null, true];
  }

  // Lowers the resolution if drawing is slow.
  adapt() {
    if (this.cost > MAX_COST && this.resolution > MIN_RESOLUTION) [this.resolution, this.cost] = [Math.max(MIN_RESOLUTION, this.resolution * 0.8), MAX_COST / 2];
    if (this.cost < MAX_COST / 3 && this.frames % 50 === 0) this.resolution = Math.min(1, this.resolution * 1.25);
  }

  /** @param {number} now */
  draw(now) {
    const { painter, canvas, state, robot } = this;
    const passed = Math.min(LONGEST_LOOK, now - this.lookedAt);
    this.lookedAt = now;
    if (!painter || !canvas.offsetParent) return;
    this.waited = painter.busy ? this.waited + passed : 0;
    if (this.waited > MAX_WAIT) return this.giveWay();
    if (painter.busy || !this.stale || !robot || !state) return;
    if (this.software && now - this.drawn < Math.max(MIN_PERIOD, PAUSE * this.cost)) return;
    [this.stale, this.drawn] = [false, now];
    this.frames++;
    this.adapt();
    const ratio = Math.min(devicePixelRatio || 1, 2) * this.resolution;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight].map((v) => Math.round(v * ratio));
    const [x, y, yaw] = state.odom ?? [0, 0, 0];
    const [bodyHeight, roll, pitch] = state.body;
    const feet = this.plantedFeet();
    const ground = groundBelow(this.terrain, state.truth ?? [x, y, yaw], feet);
    const target = [x, y, ground.height + 0.6 * bodyHeight];
    const eye = this.camera.eye(target);
    const seen = look(eye, target, width / height);
    painter.begin([width, height], seen, eye, this.shade ?? []);
    const base = multiply(rigid([x, y, ground.height], [0, 0, yaw]), rigid([0, 0, 0], [ground.roll, ground.pitch, 0]));
    this.screen = multiply(seen, base);
    const groups = robot.move(multiply(base, rigid([0, 0, bodyHeight], [roll, pitch, 0])), (joint) => state.joints[this.row.get(joint)] ?? 0);
    const robotAs = (/** @type {number} */ kind) => groups.forEach((matrices, group) => painter.draw(this.links[group], matrices, kind));
    if (this.terrain.flat) {
      painter.depth(false); // the ground, its lines and the shadow lie in one plane
      this.drawPlane(x, y);
      robotAs(KINDS.shadow);
      this.drawWay(base, feet, 0.001);
      painter.depth(true);
    } else {
      painter.depth(true);
      this.drawTerrain();
      this.drawWay(base, feet, ground.height + 0.004);
    }
    robotAs(KINDS.lit);
    painter.end();
  }

  // The flat view from whose side the camera looks at the robot.
  get resembled() {
    const ahead = Math.cos(this.camera.azimuth - (this.state?.odom?.[2] ?? 0));
    if (this.camera.elevation > FROM_ABOVE) return "top";
    return Math.abs(ahead) > Math.SQRT1_2 ? "front" : "side";
  }

  /** @returns {number[][]} in base_footprint */
  plantedFeet() {
    const { pose, state } = this;
    return pose ? pose.legs.filter((/** @type {any} */ _, /** @type {number} */ i) => state.planted[i]).map((/** @type {number[][]} */ points) => points[3]) : [];
  }

  /**
   * The plane and its grid, around the robot.
   * @param {number} x
   * @param {number} y
   */
  drawPlane(x, y) {
    const at = rigid([Math.round(x / GRID) * GRID, Math.round(y / GRID) * GRID, 0], [0, 0, 0]);
    this.painter?.draw(this.meshes.plane ?? null, at);
    this.painter?.draw(this.meshes.grid ?? null, at, KINDS.plain, WebGLRenderingContext.LINES);
  }

  drawTerrain() {
    const { painter, state } = this;
    const [x, y] = state.truth ?? state.odom ?? [0, 0];
    if (painter && (!this.loadedAt || Math.hypot(x - this.loadedAt[0], y - this.loadedAt[1]) > REBUILT)) {
      this.loadedAt = [x, y];
      this.earthMesh = painter.load(painted(triangles(this.terrain.near(x, y)), this.earth ?? []), this.earthMesh);
    }
    const [wx, wy, turn] = worldInOdometry(state.odom, state.truth);
    painter?.draw(this.earthMesh, rigid([wx, wy, 0], [0, 0, turn]), KINDS.earth);
  }

  /**
   * Draws the path, the footprints, the support polygon and the center of mass.
   * @param {Float32Array} base
   * @param {number[][]} feet
   * @param {number} height
   */
  drawWay(base, feet, height) {
    const { painter, path } = this;
    if (path) this.loadWay(path);
    painter?.draw(this.meshes.way ?? null, rigid([0, 0, height], [0, 0, 0]));
    if (feet.length < 3) return;
    const edge = hull(feet.map(([x, y]) => [x, y]));
    const [x, y] = this.pose.mass;
    const disc = CIRCLE.map(([c, s]) => [x + 2 * LINE * c, y + 2 * LINE * s]);
    const fan = disc.flatMap((point, i) => [[x, y], disc.at(i - 1) ?? point, point].flatMap(([px, py]) => [px, py, 0.004, 0, 0, 1]));
    this.loadMesh("support", painted([...ribbon([...edge, edge[0]].map(([px, py]) => [px, py, 0.004]), LINE), ...fan], this.supportColor ?? []));
    painter?.draw(this.meshes.support ?? null, base);
  }

  /**
   * Loads path and footprints when they have changed.
   * @param {import("./path.js").Path} path
   */
  loadWay(path) {
    const shown = `${path.points.at(-1)} ${path.prints.at(-1)} ${path.prints.length}`;
    if (shown === this.wayShown) return;
    this.wayShown = shown;
    const vertices = [ribbon(path.points.map(([x, y]) => [x, y, 0]), LINE), squares(path.prints.slice(-PRINTS), LINE)];
    this.loadMesh("way", painted(vertices.flat(), this.wayColor ?? []));
  }
}
