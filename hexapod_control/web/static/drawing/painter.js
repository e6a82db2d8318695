// SPDX-License-Identifier: Apache-2.0
// Draws meshes with WebGL. Light is computed per vertex, and the links of a robot are drawn at once, so that a frame is
// cheap without a GPU, too.

export const STRIDE = 10; // numbers of a vertex: point, normal, colour, row of its matrix
export const ROWS = 28; // matrices of one call: WebGL has at least 128 vectors, of which camera, eye and shade take six

/** @typedef {{buffer: WebGLBuffer | null, order: WebGLBuffer | null, count: number}} LoadedMesh */

export const KINDS = { plain: 0, lit: 1, earth: 2, shadow: 3 };

const VERTEX = `
attribute vec3 point, normal, color; attribute float row;
uniform mat4 camera, at[${ROWS}]; uniform vec3 eye, shade; uniform float kind;
varying lowp vec3 shown;
const vec3 light = vec3(-0.3352, 0.431, 0.838);
void main() {
  mat4 m = at[int(row + 0.5)];
  vec4 w = m * vec4(point, 1.0);
  shown = color;
  if (kind > 2.5) { w.xy += w.z * vec2(0.25, -0.35); w.z = 0.0; shown = shade; }
  else if (kind > 0.5) {
    float earth = kind - 1.0;
    vec3 u = normalize((m * vec4(normal, 0.0)).xyz), v = normalize(eye - w.xyz);
    float shine = 0.16 * (1.0 - earth) * pow(max(dot(reflect(-light, u), v), 0.0), 24.0);
    shown *= 1.0 + earth * clamp(9.0 * w.z, -0.35, 0.35);
    shown = shown * (0.5 + 0.42 * max(dot(u, light), 0.0) + 0.14 * max(dot(u, v), 0.0)) + shine;
  }
  gl_Position = camera * w;
}`;
const FRAGMENT = "varying lowp vec3 shown; void main() { gl_FragColor = vec4(shown, 1.0); }";

/**
 * The vertices of triangles or lines, given as points with normals, in one colour and with the row of their matrix.
 * @param {number[]} data
 * @param {number[]} color
 */
export function painted(data, color, row = 0) {
  const found = new Float32Array((data.length / 6) * STRIDE);
  for (let i = 0, k = 0; i < data.length; i += 6, k += STRIDE) {
    for (let j = 0; j < 6; j++) found[k + j] = data[i + j];
    for (let j = 0; j < 3; j++) found[k + 6 + j] = color[j];
    found[k + 9] = row % ROWS;
  }
  return found;
}

/**
 * Several sets of vertices as one.
 * @param {Float32Array[]} parts
 */
export function joined(parts) {
  const found = new Float32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let start = 0;
  for (const part of parts) {
    found.set(part, start);
    start += part.length;
  }
  return found;
}

/**
 * The distinct vertices of a list, and the index of each vertex of the list among them.
 * @param {Float32Array} vertices
 */
export function shared(vertices) {
  const rows = new Map();
  const order = new Uint16Array(vertices.length / STRIDE);
  const unique = new Float32Array(vertices.length);
  for (let i = 0; i < order.length; i++) {
    const vertex = vertices.subarray(STRIDE * i, STRIDE * (i + 1));
    const key = vertex.join(" ");
    if (!rows.has(key)) {
      unique.set(vertex, STRIDE * rows.size);
      rows.set(key, rows.size);
    }
    order[i] = rows.get(key);
  }
  return { unique: unique.subarray(0, STRIDE * rows.size), order };
}

export class Painter {
  /** @param {WebGLRenderingContext} gl */
  constructor(gl) {
    this.gl = gl;
    const program = /** @type {WebGLProgram} */ (gl.createProgram());
    for (const [kind, source] of /** @type {[number, string][]} */ ([[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]])) {
      const shader = /** @type {WebGLShader} */ (gl.createShader(kind));
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    gl.useProgram(program);
    const uniform = (/** @type {string} */ name) => gl.getUniformLocation(program, name);
    this.at = { camera: uniform("camera"), rows: uniform("at"), eye: uniform("eye"), shade: uniform("shade"), kind: uniform("kind") };
    this.inputs = ["point", "normal", "color", "row"].map((name) => gl.getAttribLocation(program, name));
    gl.enable(gl.CULL_FACE);
    for (const input of this.inputs) gl.enableVertexAttribArray(input);
  }

  /**
   * Loads vertices, in place of those of a mesh if one is given.
   * @param {Float32Array} vertices
   * @param {LoadedMesh | null} [mesh]
   * @returns {LoadedMesh}
   */
  load(vertices, mesh) {
    const { gl } = this;
    const buffer = mesh?.buffer ?? gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, vertices, gl.STATIC_DRAW);
    return { buffer, order: null, count: vertices.length / STRIDE };
  }

  /**
   * Loads vertices of triangles that share most of them: each is computed once in a frame.
   * @param {Float32Array} vertices
   * @param {LoadedMesh | null} [mesh]
   * @returns {LoadedMesh}
   */
  loadShared(vertices, mesh) {
    const { gl } = this;
    const { unique, order } = shared(vertices);
    const { buffer } = this.load(unique, mesh);
    const numbers = mesh?.order ?? gl.createBuffer();
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, numbers);
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, order, gl.STATIC_DRAW);
    return { buffer, order: numbers, count: order.length };
  }

  /**
   * Begins a frame.
   * @param {Float32Array} camera
   * @param {number[]} eye
   * @param {number[]} shade colour of shadows
   */
  begin(camera, eye, shade) {
    const { gl, at } = this;
    gl.viewport(0, 0, gl.drawingBufferWidth, gl.drawingBufferHeight);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.uniformMatrix4fv(at.camera, false, camera);
    gl.uniform3fv(at.eye, eye);
    gl.uniform3fv(at.shade, shade);
  }

  /**
   * Draws a mesh with its matrices, 16 numbers each.
   * @param {LoadedMesh | null} mesh
   * @param {Float32Array} matrices
   * @param {number} [kind] one of KINDS
   * @param {number} [mode] triangles, or lines
   */
  draw(mesh, matrices, kind = KINDS.plain, mode = this.gl.TRIANGLES) {
    if (!mesh?.count) return;
    const { gl } = this;
    gl.bindBuffer(gl.ARRAY_BUFFER, mesh.buffer);
    let offset = 0;
    this.inputs.forEach((input, i) => {
      const size = i < 3 ? 3 : 1;
      gl.vertexAttribPointer(input, size, gl.FLOAT, false, 4 * STRIDE, offset);
      offset += 4 * size;
    });
    gl.uniformMatrix4fv(this.at.rows, false, matrices);
    gl.uniform1f(this.at.kind, kind);
    if (!mesh.order) return gl.drawArrays(mode, 0, mesh.count);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, mesh.order);
    gl.drawElements(mode, mesh.count, gl.UNSIGNED_SHORT, 0);
  }
}
