// SPDX-License-Identifier: Apache-2.0
// Meshes of unit size: triangles, counter-clockwise seen from outside, as points with normals.

const CYLINDER_SIDES = 16;
const [RINGS, SECTORS] = [8, 12]; // of a sphere

function box() {
  const data = [];
  for (let axis = 0; axis < 3; axis++)
    for (const side of [-0.5, 0.5]) {
      const corner = (/** @type {number} */ a, /** @type {number} */ b) => {
        const point = [0, 0, 0];
        point[axis] = side;
        point[(axis + 1) % 3] = a;
        point[(axis + 2) % 3] = b;
        const normal = [0, 0, 0];
        normal[axis] = 2 * side;
        return [...point, ...normal];
      };
      for (const [a, b] of [[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]]) data.push(...(side > 0 ? corner(a, b) : corner(b, a)));
    }
  return data;
}

function cylinder() {
  const data = [];
  for (let i = 0; i < CYLINDER_SIDES; i++) {
    const [a, b] = [i, i + 1].map((k) => (2 * Math.PI * k) / CYLINDER_SIDES);
    const at = (/** @type {number} */ angle, /** @type {number} */ z) => [Math.cos(angle), Math.sin(angle), z];
    const out = (/** @type {number} */ angle) => [Math.cos(angle), Math.sin(angle), 0];
    for (const [angle, z] of [[a, -0.5], [b, -0.5], [b, 0.5], [a, -0.5], [b, 0.5], [a, 0.5]]) data.push(...at(angle, z), ...out(angle));
    for (const [z, from, to] of [[-0.5, b, a], [0.5, a, b]]) data.push(0, 0, z, 0, 0, 2 * z, ...at(from, z), 0, 0, 2 * z, ...at(to, z), 0, 0, 2 * z);
  }
  return data;
}

function sphere() {
  const data = [];
  const at = (/** @type {number} */ i, /** @type {number} */ j) => {
    const [theta, phi] = [(Math.PI * i) / RINGS, (2 * Math.PI * j) / SECTORS];
    const point = [Math.sin(theta) * Math.cos(phi), Math.sin(theta) * Math.sin(phi), Math.cos(theta)];
    return [...point, ...point];
  };
  for (let i = 0; i < RINGS; i++)
    for (let j = 0; j < SECTORS; j++)
      for (const [a, b] of [[0, 0], [1, 0], [1, 1], [0, 0], [1, 1], [0, 1]]) data.push(...at(i + a, j + b));
  return data;
}

function plane() {
  return [[-1, -1], [1, -1], [1, 1], [-1, -1], [1, 1], [-1, 1]].flatMap(([x, y]) => [x, y, 0, 0, 0, 1]);
}

/** @type {Record<string, number[]>} */
export const MESHES = { box: box(), cylinder: cylinder(), sphere: sphere(), plane: plane() };

// Returns the grid of the ground as short lines, as not every graphics driver draws lines that pass behind the camera.
export function gridLines() {
  const data = [];
  for (let i = -25; i <= 25; i++)
    for (let k = -5; k < 5; k++) {
      const [a, b, c] = [i / 10, k / 2, (k + 1) / 2];
      for (const [x, y] of [[a, b], [a, c], [b, a], [c, a]]) data.push(x, y, 0, 0, 0, 1);
    }
  return data;
}
