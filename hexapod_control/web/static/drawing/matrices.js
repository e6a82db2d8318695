// SPDX-License-Identifier: Apache-2.0
// 4x4 matrices for WebGL, in column-major order.

const FIELD_OF_VIEW = 0.7; // [rad]

/**
 * @param {Float32Array} a
 * @param {Float32Array} b
 */
export function multiply(a, b) {
  const m = new Float32Array(16);
  for (let c = 0; c < 4; c++)
    for (let r = 0; r < 4; r++) m[4 * c + r] = a[r] * b[4 * c] + a[4 + r] * b[4 * c + 1] + a[8 + r] * b[4 * c + 2] + a[12 + r] * b[4 * c + 3];
  return m;
}

/**
 * @param {number[]} place
 * @param {number[]} angles roll, pitch, yaw
 */
export function rigid([x, y, z], [roll, pitch, yaw]) {
  const [cr, sr, cp, sp, cy, sy] = [roll, pitch, yaw].flatMap((a) => [Math.cos(a), Math.sin(a)]);
  return new Float32Array([
    cy * cp, sy * cp, -sp, 0,
    cy * sp * sr - sy * cr, sy * sp * sr + cy * cr, cp * sr, 0,
    cy * sp * cr + sy * sr, sy * sp * cr - cy * sr, cp * cr, 0,
    x, y, z, 1,
  ]);
}

/**
 * @param {number[]} axis of unit length
 * @param {number} angle
 */
export function about([x, y, z], angle) {
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

/**
 * @param {Float32Array} m
 * @param {number[]} factors
 */
export function scaled(m, [x, y, z]) {
  return multiply(m, new Float32Array([x, 0, 0, 0, 0, y, 0, 0, 0, 0, z, 0, 0, 0, 0, 1]));
}

/**
 * @param {number[]} eye
 * @param {number[]} target
 * @param {number} aspect width over height
 */
export function look(eye, target, aspect) {
  const unit = (/** @type {number[]} */ v) => v.map((k) => k / Math.hypot(...v));
  const cross = (/** @type {number[]} */ a, /** @type {number[]} */ b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
  const dot = (/** @type {number[]} */ a, /** @type {number[]} */ b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  const back = unit(eye.map((v, i) => v - target[i]));
  const right = unit(cross([0, 0, 1], back));
  const up = cross(back, right);
  const view = new Float32Array([
    right[0], up[0], back[0], 0, right[1], up[1], back[1], 0, right[2], up[2], back[2], 0,
    -dot(right, eye), -dot(up, eye), -dot(back, eye), 1,
  ]);
  const f = 1 / Math.tan(FIELD_OF_VIEW / 2) / Math.max(1, 1 / aspect);
  const [near, far] = [0.02, 20];
  const lens = new Float32Array([f / aspect, 0, 0, 0, 0, f, 0, 0, 0, 0, (far + near) / (near - far), -1, 0, 0, (2 * far * near) / (near - far), 0]);
  return multiply(lens, view);
}
