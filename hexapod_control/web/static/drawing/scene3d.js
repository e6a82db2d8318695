// 3D view of the URDF in plain WebGL; the module is loaded when the view is first shown.

import { gridLines, MESHES } from "./meshes.js";
import { about, look, multiply, rigid, scaled } from "./matrices.js";
import { readUrdf } from "./urdf.js";

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
uniform vec4 color; uniform vec3 eye; uniform float lit;
varying vec3 n; varying vec3 p;
void main() {
  vec3 u = normalize(n); vec3 v = normalize(eye - p); vec3 l = normalize(vec3(-0.35, 0.45, 0.9));
  float light = 0.5 + 0.42 * max(dot(u, l), 0.0) + 0.14 * max(dot(u, v), 0.0);
  vec3 shine = vec3(0.16) * pow(max(dot(reflect(-l, u), v), 0.0), 24.0);
  gl_FragColor = vec4(mix(color.rgb, color.rgb * light + shine, lit), color.a);
}`;

export class Scene3d {
  constructor(canvas, note) {
    this.canvas = canvas;
    this.note = note;
    this.camera = { azimuth: -0.7, elevation: 0.5, distance: 1.1 };
    this.frames = 0;
    this.drawn = 0; // [ms]
    this.framePeriod = 33; // [ms] between two frames, smoothed
    this.resolution = 1; // share of the screen's pixels along each axis
    this.gl = canvas.getContext("webgl", { antialias: true, alpha: true });
    if (!this.gl) {
      note.textContent = "This browser has no WebGL; the four views show the same robot.";
      return;
    }
    note.textContent = "drag to turn · wheel or two fingers to zoom · arrow keys";
    this.prepare();
    this.orbit();
    this.restyle();
  }

  restyle() {
    const dark = document.documentElement.dataset.theme === "dark";
    this.ground = dark ? [0.16, 0.19, 0.23, 1] : [0.93, 0.945, 0.96, 1];
    this.lines = dark ? [0.24, 0.29, 0.35, 1] : [0.81, 0.84, 0.88, 1];
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
    this.at = Object.fromEntries(["camera", "model", "color", "eye", "lit", "flat_"].map((name) => [name, gl.getUniformLocation(program, name)]));
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

  update(state) {
    if (state.joints) this.state = state;
    this.stale = true;
  }

  // Lowers the resolution if drawing is slow.
  adapt(now) {
    const took = now - this.drawn;
    this.drawn = now;
    if (took > 1000 || this.frames < 20) return;
    this.framePeriod += 0.05 * (took - this.framePeriod);
    if (this.framePeriod > 90 && this.resolution > 0.6) [this.resolution, this.framePeriod] = [Math.max(0.6, this.resolution * 0.8), 33];
  }

  draw(now) {
    if (!this.gl || !this.stale || !this.root || !this.state || !this.canvas.offsetParent) return;
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
    const target = [x, y, 0.6 * bodyHeight];
    const flat = camera.distance * Math.cos(camera.elevation);
    const eye = [x + flat * Math.cos(camera.azimuth), y + flat * Math.sin(camera.azimuth), target[2] + camera.distance * Math.sin(camera.elevation)];
    gl.uniformMatrix4fv(this.at.camera, false, look(eye, target, width / height));
    gl.uniform3fv(this.at.eye, eye);
    gl.disable(gl.DEPTH_TEST); // the ground, its lines and the shadow lie in one plane
    this.drawGround(Math.round(x / 0.5) * 0.5, Math.round(y / 0.5) * 0.5);
    const parts = [];
    this.collect(this.root, multiply(rigid([x, y, 0], [0, 0, yaw]), rigid([0, 0, bodyHeight], [roll, pitch, 0])), parts);
    gl.uniform1f(this.at.flat_, 1);
    gl.uniform1f(this.at.lit, 0);
    for (const part of parts) this.shape(part.mesh, part.at, this.shadow());
    gl.enable(gl.DEPTH_TEST);
    gl.uniform1f(this.at.flat_, 0);
    gl.uniform1f(this.at.lit, 1);
    for (const part of parts) this.shape(part.mesh, part.at, part.color.map((v, i) => (i < 3 ? v + this.lift * (1 - v) : v)));
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
    const { gl } = this;
    const mesh = this.meshes[name];
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
