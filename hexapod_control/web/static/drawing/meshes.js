// Meshes of unit size: triangles, as points with normals.

const CYLINDER_SIDES = 20;

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
  for (let i = 0; i < CYLINDER_SIDES; i++) {
    const [a, b] = [i, i + 1].map((k) => (2 * Math.PI * k) / CYLINDER_SIDES);
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

export const MESHES = { box, cylinder, sphere, plane };

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
