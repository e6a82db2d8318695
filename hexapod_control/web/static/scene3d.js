// The 3D view, loaded when it is first shown: the URDF's boxes, cylinders and spheres by WebGL, without a library.

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
const FIELD = 0.7; // [rad] of view
const AROUND = 20; // sides of a cylinder

// --- matrices, column by column as WebGL wants them ------------------------------------------------------------

function multiply(a, b) {
  const m = new Float32Array(16);
  for (let c = 0; c < 4; c++)
    for (let r = 0; r < 4; r++) m[4 * c + r] = a[r] * b[4 * c] + a[4 + r] * b[4 * c + 1] + a[8 + r] * b[4 * c + 2] + a[12 + r] * b[4 * c + 3];
  return m;
}

function rigid([x, y, z], [roll, pitch, yaw]) {
  const [cr, sr, cp, sp, cy, sy] = [roll, pitch, yaw].flatMap((a) => [Math.cos(a), Math.sin(a)]);
  return new Float32Array([
    cy * cp, sy * cp, -sp, 0,
    cy * sp * sr - sy * cr, sy * sp * sr + cy * cr, cp * sr, 0,
    cy * sp * cr + sy * sr, sy * sp * cr - cy * sr, cp * cr, 0,
    x, y, z, 1,
  ]);
}

function about([x, y, z], angle) {
  const c = Math.cos(angle);
  const s = Math.sin(angle);
  const t = 1 - c;
  return new Float32Array([
    t * x * x + c, t * x * y + s * z, t * x * z - s * y, 0,
    t * x * y - s * z, t * y * y + c, t * y * z + s * x, 0,
    t * x * z + s * y, t * y * z - s * x, t * z * z + c, 0,
    0, 0, 0, 1,
  ]);
}

function scaled(m, [x, y, z]) {
  return multiply(m, new Float32Array([x, 0, 0, 0, 0, y, 0, 0, 0, 0, z, 0, 0, 0, 0, 1]));
}

function look(eye, target, aspect) {
  const unit = (v) => v.map((k) => k / Math.hypot(...v));
  const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
  const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  const back = unit(eye.map((v, i) => v - target[i]));
  const right = unit(cross([0, 0, 1], back));
  const up = cross(back, right);
  const view = new Float32Array([
    right[0], up[0], back[0], 0, right[1], up[1], back[1], 0, right[2], up[2], back[2], 0,
    -dot(right, eye), -dot(up, eye), -dot(back, eye), 1,
  ]);
  const f = 1 / Math.tan(FIELD / 2) / Math.max(1, 1 / aspect);
  const [near, far] = [0.02, 20];
  const lens = new Float32Array([f / aspect, 0, 0, 0, 0, f, 0, 0, 0, 0, (far + near) / (near - far), -1, 0, 0, (2 * far * near) / (near - far), 0]);
  return multiply(lens, view);
}

// --- shapes of size 1: triangles of points with normals -------------------------------------------------------------

function box() {
  const data = [];
  for (let axis = 0; axis < 3; axis++)
    for (const side of [-0.5, 0.5]) {
      const corner = (a, b) => {
        const point = [0, 0, 0];
        point[axis] = side;
        point[(axis + 1) % 3] = a;
        point[(axis + 2) % 3] = b;
        const normal = [0, 0, 0];
        normal[axis] = 2 * side;
        return [...point, ...normal];
      };
      for (const [a, b] of [[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]]) data.push(...corner(a, b));
    }
  return data;
}

function cylinder() {
  const data = [];
  for (let i = 0; i < AROUND; i++) {
    const [a, b] = [i, i + 1].map((k) => (2 * Math.PI * k) / AROUND);
    const at = (angle, z) => [Math.cos(angle), Math.sin(angle), z];
    const out = (angle) => [Math.cos(angle), Math.sin(angle), 0];
    for (const [angle, z] of [[a, -0.5], [b, -0.5], [b, 0.5], [a, -0.5], [b, 0.5], [a, 0.5]]) data.push(...at(angle, z), ...out(angle));
    for (const z of [-0.5, 0.5]) data.push(0, 0, z, 0, 0, 2 * z, ...at(a, z), 0, 0, 2 * z, ...at(b, z), 0, 0, 2 * z);
  }
  return data;
}

function sphere() {
  const data = [];
  const at = (i, j) => {
    const [theta, phi] = [(Math.PI * i) / 10, (2 * Math.PI * j) / 16];
    const point = [Math.sin(theta) * Math.cos(phi), Math.sin(theta) * Math.sin(phi), Math.cos(theta)];
    return [...point, ...point];
  };
  for (let i = 0; i < 10; i++)
    for (let j = 0; j < 16; j++)
      for (const [a, b] of [[0, 0], [1, 0], [1, 1], [0, 0], [1, 1], [0, 1]]) data.push(...at(i + a, j + b));
  return data;
}

function plane() {
  return [[-1, -1], [1, -1], [1, 1], [-1, -1], [1, 1], [-1, 1]].flatMap(([x, y]) => [x, y, 0, 0, 0, 1]);
}

const MESHES = { box, cylinder, sphere, plane };

// --- URDF -----------------------------------------------------------------------------------------------------------

const numbers = (text, or) => (text ? text.trim().split(/\s+/).map(Number) : or);

export function readUrdf(text) {
  const robot = new DOMParser().parseFromString(text, "application/xml").documentElement;
  const color = (material) => numbers(material?.querySelector("color")?.getAttribute("rgba"), null);
  const materials = new Map([...robot.querySelectorAll(":scope > material")].map((m) => [m.getAttribute("name"), color(m)]));
  const origin = (element) => {
    const found = [...element.children].find((child) => child.tagName === "origin");
    return rigid(numbers(found?.getAttribute("xyz"), [0, 0, 0]), numbers(found?.getAttribute("rpy"), [0, 0, 0]));
  };
  const links = new Map([...robot.querySelectorAll(":scope > link")].map((link) => [link.getAttribute("name"), { visuals: [], children: [] }]));
  for (const link of robot.querySelectorAll(":scope > link"))
    for (const visual of link.querySelectorAll(":scope > visual")) {
      const shape = visual.querySelector("geometry")?.firstElementChild;
      const material = visual.querySelector("material");
      const paint = color(material) ?? materials.get(material?.getAttribute("name")) ?? [0.6, 0.62, 0.66, 1];
      const size = sizeOf(shape);
      if (size) links.get(link.getAttribute("name")).visuals.push({ mesh: shape.tagName, at: scaled(origin(visual), size), color: paint });
    }
  const children = new Set();
  for (const joint of robot.querySelectorAll(":scope > joint")) {
    const child = joint.querySelector("child").getAttribute("link");
    children.add(child);
    links.get(joint.querySelector("parent").getAttribute("link")).children.push({
      name: joint.getAttribute("name"),
      at: origin(joint),
      axis: numbers(joint.querySelector("axis")?.getAttribute("xyz"), [1, 0, 0]),
      fixed: joint.getAttribute("type") === "fixed",
      link: links.get(child),
    });
  }
  return links.get([...links.keys()].find((name) => !children.has(name)));
}

function sizeOf(shape) {
  if (shape?.tagName === "box") return numbers(shape.getAttribute("size"));
  const radius = Number(shape?.getAttribute("radius"));
  if (shape?.tagName === "cylinder") return [radius, radius, Number(shape.getAttribute("length"))];
  return shape?.tagName === "sphere" ? [radius, radius, radius] : null; // meshes are not drawn
}

// --- the view ---------------------------------------------------------------------------------------------------------

export class Space {
  constructor(canvas, note) {
    this.canvas = canvas;
    this.note = note;
    this.camera = { turn: -0.7, tilt: 0.5, distance: 1.1 };
    this.frames = 0;
    this.drawn = 0; // [ms]
    this.pace = 33; // [ms] between two frames, smoothed
    this.detail = 1; // share of the screen's pixels along each axis
    this.gl = canvas.getContext("webgl", { antialias: true, alpha: true });
    if (!this.gl) {
      note.textContent = "This browser has no WebGL; the four views show the same robot.";
      return;
    }
    note.textContent = "drag turns · wheel or two fingers zoom · arrow keys";
    this.prepare();
    this.orbit();
    this.restyle();
  }

  restyle() {
    const dark = document.documentElement.dataset.theme === "dark";
    this.ground = dark ? [0.16, 0.19, 0.23, 1] : [0.93, 0.945, 0.96, 1];
    this.lines = dark ? [0.24, 0.29, 0.35, 1] : [0.81, 0.84, 0.88, 1];
    this.lift = dark ? 0.16 : 0; // dark parts of a robot must not vanish before a dark ground
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

  urdf(text, names) {
    this.root = readUrdf(text);
    this.row = new Map(names.map((name, i) => [name, i]));
    this.stale = true;
  }

  take(state) {
    if (state.joints) this.state = state;
    this.stale = true;
  }

  // Fewer pixels where drawing them takes long.
  adapt(now) {
    const took = now - this.drawn;
    this.drawn = now;
    if (took > 1000 || this.frames < 20) return;
    this.pace += 0.05 * (took - this.pace);
    if (this.pace > 90 && this.detail > 0.6) [this.detail, this.pace] = [Math.max(0.6, this.detail * 0.8), 33];
  }

  draw(now) {
    if (!this.gl || !this.stale || !this.root || !this.state || !this.canvas.offsetParent) return;
    this.stale = false;
    this.frames++;
    const { gl, canvas, camera } = this;
    this.adapt(now);
    const ratio = Math.min(devicePixelRatio || 1, 2) * this.detail;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight].map((v) => Math.round(v * ratio));
    if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
    gl.viewport(0, 0, width, height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    const [x, y, yaw] = this.state.odom ?? [0, 0, 0];
    const [tall, roll, pitch] = this.state.body;
    const target = [x, y, 0.6 * tall];
    const flat = camera.distance * Math.cos(camera.tilt);
    const eye = [x + flat * Math.cos(camera.turn), y + flat * Math.sin(camera.turn), target[2] + camera.distance * Math.sin(camera.tilt)];
    gl.uniformMatrix4fv(this.at.camera, false, look(eye, target, width / height));
    gl.uniform3fv(this.at.eye, eye);
    gl.disable(gl.DEPTH_TEST); // the ground, its lines and the shadow lie in one plane
    this.drawGround(Math.round(x / 0.5) * 0.5, Math.round(y / 0.5) * 0.5);
    const parts = [];
    this.collect(this.root, multiply(rigid([x, y, 0], [0, 0, yaw]), rigid([0, 0, tall], [roll, pitch, 0])), parts);
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
    const turn = (dx, dy) => {
      camera.turn -= dx * 0.008;
      camera.tilt = Math.max(0.05, Math.min(1.5, camera.tilt + dy * 0.008));
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
      const wide = fingers.size === 2 ? spread() : 0;
      fingers.set(event.pointerId, [event.clientX, event.clientY]);
      if (fingers.size === 2) zoom(wide / Math.max(1, spread()));
      else turn(event.clientX - before[0], event.clientY - before[1]);
    });
    for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, (event) => fingers.delete(event.pointerId));
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      zoom(Math.exp(event.deltaY * 0.001));
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: [12, 0], ArrowRight: [-12, 0], ArrowUp: [0, 12], ArrowDown: [0, -12] }[event.key];
      if (step) turn(...step);
      if (event.key === "+" || event.key === "-") zoom(event.key === "+" ? 0.9 : 1.1);
      if (step) event.preventDefault();
    });
  }
}

// Short pieces: a line that goes behind the camera is not drawn by every driver.
function gridLines() {
  const data = [];
  for (let i = -25; i <= 25; i++)
    for (let k = -5; k < 5; k++) {
      const [a, b, c] = [i / 10, k / 2, (k + 1) / 2];
      for (const [x, y] of [[a, b], [a, c], [b, a], [c, a]]) data.push(x, y, 0, 0, 0, 1);
    }
  return data;
}
