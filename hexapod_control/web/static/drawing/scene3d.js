// SPDX-License-Identifier: Apache-2.0
// 3D view of the URDF in plain WebGL; the module is loaded when the view is first shown.

import { gridLines, MESHES } from "./meshes.js";
import { look, multiply, rigid } from "./matrices.js";
import { t } from "../texts/texts.js";
import { hull } from "./leg_geometry.js";
import { OrbitCamera } from "./orbit.js";
import { KINDS, painted, Painter } from "./painter.js";
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
const MAX_COST = 18; // [ms] of a frame without a GPU, above which the resolution is lowered
const MIN_RESOLUTION = 0.6; // below it lines of the path and of the support polygon have gaps
const CIRCLE = [...Array(12).keys()].map((i) => [Math.cos((Math.PI * i) / 6), Math.sin((Math.PI * i) / 6)]);
const SOFTWARE = /swiftshader|llvmpipe|software/i; // graphics without a GPU

/** @typedef {import("./painter.js").Mesh} Mesh */

// Whether this browser draws WebGL without a GPU; determined with another canvas, as a context cannot be changed later.
function drawsWithoutGpu() {
  const gl = document.createElement("canvas").getContext("webgl");
  const names = gl?.getExtension("WEBGL_debug_renderer_info");
  const found = SOFTWARE.test(gl && names ? gl.getParameter(names.UNMASKED_RENDERER_WEBGL) : "");
  gl?.getExtension("WEBGL_lose_context")?.loseContext();
  return found;
}

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
  framePeriod = 33; // [ms] between two frames, smoothed
  cost = 0; // [ms] of a frame without a GPU, smoothed
  resolution = 1; // share of the screen's pixels along each axis

  /**
   * @param {HTMLCanvasElement} canvas
   * @param {HTMLElement} note
   */
  constructor(canvas, note) {
    this.canvas = canvas;
    this.software = drawsWithoutGpu();
    const gl = canvas.getContext("webgl", { antialias: !this.software, alpha: true }); // four samples per pixel cost too much
    note.dataset.t = gl ? "orbit" : "no_webgl";
    note.textContent = t(note.dataset.t);
    this.painter = gl && new Painter(gl);
    this.camera = new OrbitCamera(canvas, () => (this.stale = true));
    this.restyle();
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

  /**
   * Lowers the resolution if drawing is slow.
   * @param {number} now
   */
  adapt(now) {
    const took = now - this.drawn;
    this.drawn = now;
    const lower = (/** @type {number} */ least) => (this.resolution = Math.max(least, this.resolution * 0.8));
    if (this.software) {
      if (this.cost > MAX_COST && this.resolution > MIN_RESOLUTION) [this.resolution, this.cost] = [lower(MIN_RESOLUTION), MAX_COST / 2];
      if (this.cost < MAX_COST / 3 && this.frames % 50 === 0) this.resolution = Math.min(1, this.resolution * 1.25);
    } else if (took < 1000 && this.frames >= 20) {
      this.framePeriod += 0.05 * (took - this.framePeriod);
      if (this.framePeriod > 90 && this.resolution > 0.5) [this.resolution, this.framePeriod] = [lower(0.5), 33];
    }
  }

  /** @param {number} now */
  draw(now) {
    const { painter, canvas, state, robot } = this;
    if (!painter || !this.stale || !robot || !state || !canvas.offsetParent) return;
    if (this.software && now - this.drawn < Math.max(MIN_PERIOD, PAUSE * this.cost)) return;
    this.stale = false;
    this.frames++;
    this.adapt(now);
    const { gl } = painter;
    const ratio = Math.min(devicePixelRatio || 1, 2) * this.resolution;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight].map((v) => Math.round(v * ratio));
    if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
    const [x, y, yaw] = state.odom ?? [0, 0, 0];
    const [bodyHeight, roll, pitch] = state.body;
    const feet = this.plantedFeet();
    const ground = groundBelow(this.terrain, state.truth ?? [x, y, yaw], feet);
    const target = [x, y, ground.height + 0.6 * bodyHeight];
    const eye = this.camera.eye(target);
    painter.begin(look(eye, target, width / height), eye, this.shade ?? []);
    const base = multiply(rigid([x, y, ground.height], [0, 0, yaw]), rigid([0, 0, 0], [ground.roll, ground.pitch, 0]));
    const groups = robot.move(multiply(base, rigid([0, 0, bodyHeight], [roll, pitch, 0])), (joint) => state.joints[this.row.get(joint)] ?? 0);
    const robotAs = (/** @type {number} */ kind) => groups.forEach((matrices, group) => painter.draw(this.links[group], matrices, kind));
    if (this.terrain.flat) {
      gl.disable(gl.DEPTH_TEST); // the ground, its lines and the shadow lie in one plane
      this.drawPlane(x, y);
      robotAs(KINDS.shadow);
      this.drawWay(base, feet, 0.001);
      gl.enable(gl.DEPTH_TEST);
    } else {
      gl.enable(gl.DEPTH_TEST);
      this.drawTerrain();
      this.drawWay(base, feet, ground.height + 0.004);
    }
    robotAs(KINDS.lit);
    if (this.software) this.measure(gl);
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

  /**
   * Waits for the frame: without a GPU, frames would queue up and delay every input.
   * @param {WebGLRenderingContext} gl
   */
  measure(gl) {
    const start = performance.now();
    gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));
    this.cost += 0.2 * (performance.now() - start - this.cost);
  }
}
