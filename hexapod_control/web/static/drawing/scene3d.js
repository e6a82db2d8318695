// 3D view of the URDF in plain WebGL; the module is loaded when the view is first shown.

import { gridLines, MESHES } from "./meshes.js";
import { about, look, multiply, rigid, scaled } from "./matrices.js";
import { t } from "../texts/texts.js";
import { hull } from "./leg_geometry.js";
import { ribbon } from "./path.js";
import { Terrain, groundBelow, triangles, worldInOdometry } from "./terrain.js";
import { readUrdf } from "./urdf.js";

const REBUILT = 0.3; // [m] after which the ground around the robot is loaded again
const LINE = 0.006; // [m] width of the path and of the support polygon
const MIN_PERIOD = 30; // [ms] between two frames without a GPU
const PAUSE = 2; // period over the time of a frame: the rest is left to everything else
const MAX_COST = 25; // [ms] of a frame without a GPU, above which the resolution is lowered
const MIN_RESOLUTION = 0.6; // below it lines of the path and of the support polygon have gaps
const SOFTWARE = /swiftshader|llvmpipe|software/i; // graphics without a GPU

const VERTEX = `
attribute vec3 point; attribute vec3 normal;
uniform mat4 camera, model; uniform float flat_;
varying vec3 n; varying vec3 p;
void main() {
  vec4 w = model * vec4(point, 1.0);
  if (flat_ > 0.5) { w.xy += w.z * vec2(0.25, -0.35); w.z = 0.0; }
  n = mat3(model) * normal; p = w.xyz; gl_Position = camera * w;
}`;
const FRAGMENT = `
precision mediump float;
uniform vec4 color; uniform vec3 eye; uniform float lit; uniform float tint;
varying vec3 n; varying vec3 p;
void main() {
  vec3 u = normalize(n); vec3 v = normalize(eye - p); vec3 l = normalize(vec3(-0.35, 0.45, 0.9));
  float light = 0.5 + 0.42 * max(dot(u, l), 0.0) + 0.14 * max(dot(u, v), 0.0);
  vec3 shine = vec3(0.16) * pow(max(dot(reflect(-l, u), v), 0.0), 24.0);
  vec3 base = color.rgb * (1.0 + tint * clamp(9.0 * p.z, -0.35, 0.35));
  gl_FragColor = vec4(mix(base, base * light + shine * (1.0 - tint), lit), color.a);
}`;

// Whether this browser draws WebGL without a GPU; asked of another canvas, as a context cannot be changed later.
function drawsWithoutGpu() {
  const gl = document.createElement("canvas").getContext("webgl");
  const names = gl?.getExtension("WEBGL_debug_renderer_info");
  const found = SOFTWARE.test(names ? gl.getParameter(names.UNMASKED_RENDERER_WEBGL) : "");
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
  /** @type {{buffer: WebGLBuffer, count: number} | undefined} */
  once;

  constructor(canvas, note) {
    this.canvas = canvas;
    this.note = note;
    this.camera = { azimuth: -0.7, elevation: 0.5, distance: 1.1 };
    this.frames = 0;
    this.drawn = 0; // [ms]
    this.framePeriod = 33; // [ms] between two frames, smoothed
    this.cost = 0; // [ms] of a frame without a GPU, smoothed
    this.resolution = 1; // share of the screen's pixels along each axis
    this.software = drawsWithoutGpu();
    this.gl = canvas.getContext("webgl", { antialias: !this.software, alpha: true }); // four samples per pixel cost too much
    if (!this.gl) {
      note.dataset.t = "no_webgl";
      note.textContent = t("no_webgl");
      return;
    }
    note.dataset.t = "orbit";
    note.textContent = t("orbit");
    this.terrain = new Terrain();
    this.path = null;
    this.prepare();
    this.orbit();
    this.restyle();
  }

  restyle() {
    const dark = document.documentElement.dataset.theme === "dark";
    this.ground = dark ? [0.16, 0.19, 0.23, 1] : [0.93, 0.945, 0.96, 1];
    this.lines = dark ? [0.24, 0.29, 0.35, 1] : [0.81, 0.84, 0.88, 1];
    this.earth = dark ? [0.27, 0.32, 0.38, 1] : [0.80, 0.83, 0.87, 1];
    this.wayColor = dark ? [0.4, 0.66, 0.92, 1] : [0.12, 0.41, 0.69, 1];
    this.supportColor = dark ? [0.34, 0.78, 0.55, 1] : [0.11, 0.49, 0.29, 1];
    this.lift = dark ? 0.16 : 0; // brightens dark parts of a robot against a dark ground
    this.stale = true;
  }

  prepare() {
    const { gl } = this;
    const program = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    gl.useProgram(program);
    this.at = Object.fromEntries(["camera", "model", "color", "eye", "lit", "flat_", "tint"].map((name) => [name, gl.getUniformLocation(program, name)]));
    this.inputs = ["point", "normal"].map((name) => gl.getAttribLocation(program, name));
    this.meshes = Object.fromEntries(Object.entries(MESHES).map(([name, make]) => [name, this.load(make())]));
    this.grid = this.load(gridLines());
  }

  load(data) {
    const { gl } = this;
    const buffer = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(data), gl.STATIC_DRAW);
    return { buffer, count: data.length / 6 };
  }

  setUrdf(text, names) {
    this.root = readUrdf(text);
    this.row = new Map(names.map((name, i) => [name, i]));
    this.stale = true;
  }

  // `pose` is the drawn pose of the state, with the feet in base_footprint.
  update(state, pose) {
    if (!state.joints) return;
    const shown = JSON.stringify([state.joints, state.odom, state.body]);
    if (shown === this.shown) return;
    [this.shown, this.state, this.pose, this.stale] = [shown, state, pose, true];
  }

  setTerrain(terrain) {
    [this.terrain, this.loadedAt, this.stale] = [terrain, null, true];
  }

  // Lowers the resolution if drawing is slow.
  adapt(now) {
    const took = now - this.drawn;
    this.drawn = now;
    if (this.software && this.cost > MAX_COST && this.resolution > MIN_RESOLUTION) [this.resolution, this.cost] = [this.resolution * 0.8, MAX_COST];
    if (this.software && this.cost < MAX_COST / 3 && this.frames % 50 === 0) this.resolution = Math.min(1, this.resolution * 1.25);
    if (this.software) return;
    if (took > 1000 || this.frames < 20) return;
    this.framePeriod += 0.05 * (took - this.framePeriod);
    if (this.framePeriod > 90 && this.resolution > 0.5) [this.resolution, this.framePeriod] = [Math.max(0.5, this.resolution * 0.8), 33];
  }

  draw(now) {
    if (!this.gl || !this.stale || !this.root || !this.state || !this.canvas.offsetParent) return;
    if (this.software && now - this.drawn < Math.max(MIN_PERIOD, PAUSE * this.cost)) return;
    this.stale = false;
    this.frames++;
    const { gl, canvas, camera } = this;
    this.adapt(now);
    const ratio = Math.min(devicePixelRatio || 1, 2) * this.resolution;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight].map((v) => Math.round(v * ratio));
    if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
    gl.viewport(0, 0, width, height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    const [x, y, yaw] = this.state.odom ?? [0, 0, 0];
    const [bodyHeight, roll, pitch] = this.state.body;
    const feet = this.pose ? this.pose.legs.filter((_, i) => this.state.planted[i]).map((points) => points[3]) : [];
    const ground = groundBelow(this.terrain, this.state.truth ?? [x, y, yaw], feet);
    const target = [x, y, ground.height + 0.6 * bodyHeight];
    const flat = camera.distance * Math.cos(camera.elevation);
    const eye = [x + flat * Math.cos(camera.azimuth), y + flat * Math.sin(camera.azimuth), target[2] + camera.distance * Math.sin(camera.elevation)];
    gl.uniformMatrix4fv(this.at.camera, false, look(eye, target, width / height));
    gl.uniform3fv(this.at.eye, eye);
    gl.disable(gl.DEPTH_TEST); // the ground, its lines and the shadow lie in one plane
    gl.uniform1f(this.at.tint, 0);
    if (this.terrain.flat) this.drawGround(Math.round(x / 0.5) * 0.5, Math.round(y / 0.5) * 0.5);
    const parts = [];
    const base = multiply(rigid([x, y, ground.height], [0, 0, yaw]), rigid([0, 0, 0], [ground.roll, ground.pitch, 0]));
    this.collect(this.root, multiply(base, rigid([0, 0, bodyHeight], [roll, pitch, 0])), parts);
    gl.uniform1f(this.at.flat_, 1);
    gl.uniform1f(this.at.lit, 0);
    if (this.terrain.flat) for (const part of parts) this.shape(part.mesh, part.at, this.shadow());
    gl.uniform1f(this.at.flat_, 0);
    if (this.terrain.flat) this.drawWay(base, 0.001);
    gl.enable(gl.DEPTH_TEST);
    if (!this.terrain.flat) {
      this.drawTerrain();
      this.drawWay(base, ground.height + 0.004);
    }
    gl.uniform1f(this.at.flat_, 0);
    gl.uniform1f(this.at.lit, 1);
    for (const part of parts) this.shape(part.mesh, part.at, part.color.map((v, i) => (i < 3 ? v + this.lift * (1 - v) : v)));
    if (this.software) this.measure();
  }

  drawTerrain() {
    const { gl, state } = this;
    const [x, y] = state.truth ?? state.odom ?? [0, 0];
    if (!this.loadedAt || Math.hypot(x - this.loadedAt[0], y - this.loadedAt[1]) > REBUILT) {
      this.loadedAt = [x, y];
      if (this.earthMesh) gl.deleteBuffer(this.earthMesh.buffer);
      this.earthMesh = this.load(triangles(this.terrain.near(x, y)));
    }
    const [wx, wy, turn] = worldInOdometry(state.odom, state.truth);
    gl.uniform1f(this.at.lit, 1);
    gl.uniform1f(this.at.tint, 1);
    this.drawMesh(this.earthMesh, rigid([wx, wy, 0], [0, 0, turn]), this.earth);
    gl.uniform1f(this.at.tint, 0);
    gl.uniform1f(this.at.lit, 0);
  }

  // Draws the path, the footprints and the support polygon.
  drawWay(base, height) {
    this.gl.uniform1f(this.at.lit, 0);
    const none = rigid([0, 0, 0], [0, 0, 0]);
    if (this.path?.points.length > 1) this.drawOnce(ribbon(this.path.points.map(([x, y]) => [x, y, height]), LINE), none, this.wayColor);
    for (const [x, y] of this.path?.prints.slice(-60) ?? []) this.shape("plane", scaled(rigid([x, y, height], [0, 0, 0]), [LINE, LINE, 1]), this.wayColor);
    const feet = this.pose?.legs.filter((_, i) => this.state.planted[i]).map((points) => points[3]) ?? [];
    if (feet.length < 3) return;
    const edge = hull(feet.map(([x, y]) => [x, y]));
    this.drawOnce(ribbon([...edge, edge[0]].map(([x, y]) => [x, y, 0.004]), LINE), base, this.supportColor);
    const [x, y] = this.pose.mass;
    this.shape("sphere", multiply(base, scaled(rigid([x, y, 0.004], [0, 0, 0]), [2 * LINE, 2 * LINE, 0.001])), this.supportColor);
  }

  drawOnce(data, at, color) {
    this.once ??= this.load([]);
    const { gl } = this;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.once.buffer);
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(data), gl.DYNAMIC_DRAW);
    this.once.count = data.length / 6;
    this.drawMesh(this.once, at, color);
  }

  // Waits for the frame: without a GPU, frames would pile up behind each other and delay every input.
  measure() {
    const start = performance.now();
    this.gl.readPixels(0, 0, 1, 1, this.gl.RGBA, this.gl.UNSIGNED_BYTE, new Uint8Array(4));
    this.cost += 0.2 * (performance.now() - start - this.cost);
  }

  shadow() {
    return [...this.ground.slice(0, 3).map((v) => v * 0.82), 1];
  }

  drawGround(x, y) {
    const { gl } = this;
    gl.uniform1f(this.at.lit, 0);
    gl.uniform1f(this.at.flat_, 0);
    this.shape("plane", scaled(rigid([x, y, 0], [0, 0, 0]), [6, 6, 1]), this.ground);
    gl.uniformMatrix4fv(this.at.model, false, rigid([x, y, 0], [0, 0, 0]));
    gl.uniform4fv(this.at.color, this.lines);
    this.bind(this.grid);
    gl.drawArrays(gl.LINES, 0, this.grid.count);
  }

  collect(link, at, parts) {
    for (const visual of link.visuals) parts.push({ mesh: visual.mesh, at: multiply(at, visual.at), color: visual.color });
    for (const joint of link.children) {
      const angle = joint.fixed ? 0 : (this.state.joints[this.row.get(joint.name)] ?? 0);
      const moved = joint.fixed ? joint.at : multiply(joint.at, about(joint.axis, angle));
      this.collect(joint.link, multiply(at, moved), parts);
    }
  }

  bind({ buffer }) {
    const { gl } = this;
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    this.inputs.forEach((input, i) => {
      gl.enableVertexAttribArray(input);
      gl.vertexAttribPointer(input, 3, gl.FLOAT, false, 24, 12 * i);
    });
  }

  shape(name, at, color) {
    this.drawMesh(this.meshes[name], at, color);
  }

  drawMesh(mesh, at, color) {
    const { gl } = this;
    this.bind(mesh);
    gl.uniformMatrix4fv(this.at.model, false, at);
    gl.uniform4fv(this.at.color, color);
    gl.drawArrays(gl.TRIANGLES, 0, mesh.count);
  }

  orbit() {
    const fingers = new Map();
    const { canvas, camera } = this;
    const orbitBy = (dx, dy) => {
      camera.azimuth -= dx * 0.008;
      camera.elevation = Math.max(0.05, Math.min(1.5, camera.elevation + dy * 0.008));
      this.stale = true;
    };
    const zoom = (factor) => {
      camera.distance = Math.max(0.3, Math.min(5, camera.distance * factor));
      this.stale = true;
    };
    canvas.addEventListener("pointerdown", (event) => {
      fingers.set(event.pointerId, [event.clientX, event.clientY]);
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      const before = fingers.get(event.pointerId);
      if (!before) return;
      const spread = () => {
        const [a, b] = [...fingers.values()];
        return Math.hypot(a[0] - b[0], a[1] - b[1]);
      };
      const spreadBefore = fingers.size === 2 ? spread() : 0;
      fingers.set(event.pointerId, [event.clientX, event.clientY]);
      if (fingers.size === 2) zoom(spreadBefore / Math.max(1, spread()));
      else orbitBy(event.clientX - before[0], event.clientY - before[1]);
    });
    for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, (event) => fingers.delete(event.pointerId));
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      zoom(Math.exp(event.deltaY * 0.001));
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: [12, 0], ArrowRight: [-12, 0], ArrowUp: [0, 12], ArrowDown: [0, -12] }[event.key];
      if (step) orbitBy(...step);
      if (event.key === "+" || event.key === "-") zoom(event.key === "+" ? 0.9 : 1.1);
      if (step) event.preventDefault();
    });
  }
}
