// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { hull, turnCenter } from "../../../hexapod_control/web/static/drawing/leg_geometry.js";
import { multiply, rigid } from "../../../hexapod_control/web/static/drawing/matrices.js";
import { MESHES } from "../../../hexapod_control/web/static/drawing/meshes.js";
import { painted, ROWS, shared } from "../../../hexapod_control/web/static/drawing/painter.js";
import { RobotMesh } from "../../../hexapod_control/web/static/drawing/robot_mesh.js";
import { length, simplified } from "../../../hexapod_control/web/static/drawing/map.js";
import { Path } from "../../../hexapod_control/web/static/drawing/path.js";
import { Terrain, corners, worldInOdometry } from "../../../hexapod_control/web/static/drawing/terrain.js";

test("the hull of a square leaves out the points inside", () => {
  const found = hull([[0, 0], [1, 0], [1, 1], [0, 1], [0.5, 0.5]]);
  assert.equal(found.length, 4);
  assert.ok(!found.some(([x]) => x === 0.5));
});

test("the center of rotation is at the side of a turn", () => {
  assert.deepEqual(turnCenter([0.1, 0, 0.5]), [-0, 0.2]);
  assert.equal(turnCenter([0.1, 0, 0]), null);
});

test("a rotation and its inverse cancel", () => {
  const found = multiply(rigid([0, 0, 0], [0, 0, 0.7]), rigid([0, 0, 0], [0, 0, -0.7]));
  [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1].forEach((value, i) => assert.ok(Math.abs(found[i] - value) < 1e-6));
});

test("the path adds its distance, counts touch-downs and stays bounded", () => {
  const path = new Path();
  const pose = { legs: [[[], [], [], [0.1, 0, 0]]] };
  for (let k = 0; k <= 4000; k++) path.update({ odom: [0.02 * k, 0, 0], planted: [k % 2] }, pose);
  assert.ok(Math.abs(path.distance - 80) < 0.1);
  assert.equal(path.points.length, 1500);
  assert.equal(path.prints.length, 1500);
  path.update({ odom: [0, 0, 0], planted: [1] }, pose);
  assert.equal(path.distance, 0, "the world was reset");
});

test("a drawn path keeps its corners, and as many points as a message holds", () => {
  const corner = [...Array(50).keys()].map((k) => (k < 25 ? [0.1 * k, 0] : [2.5, 0.1 * (k - 25)]));
  assert.deepEqual(simplified(corner), [[0, 0], [2.4, 0], [2.5, 0], [2.5, 2.4000000000000004]].filter(([x]) => x !== 2.4));
  const spiral = [...Array(5000).keys()].map((k) => [0.002 * k * Math.cos(k / 20), 0.002 * k * Math.sin(k / 20)]);
  const kept = simplified(spiral);
  assert.ok(kept.length <= 200 && length(kept) > 0.8 * length(spiral));
});

test("the highest box below a point is its ground", () => {
  const terrain = new Terrain([[0, 0, 0.05, 0, 0, 0.2, 0.2, 0.05], [0, 0, 0.1, 0, 0, 0.05, 0.05, 0.1]]);
  assert.deepEqual([[0, 0], [0.15, 0], [1, 0]].map(([x, y]) => Number(terrain.height(x, y).toFixed(3))), [0.2, 0.1, 0]);
  assert.equal(corners([0, 0, 0, 0, 0, 1, 1, 1]).length, 8);
  assert.deepEqual(worldInOdometry([1, 2, 0], [0, 0, 0]), [1, 2, 0]);
});

test("all triangles of a mesh are counter-clockwise seen from outside, so that only those in front are drawn", () => {
  for (const name of ["box", "cylinder", "sphere"]) {
    const points = MESHES[name].length / 6;
    for (let i = 0; i < points; i += 3) {
      const [a, b, c] = [0, 1, 2].map((k) => MESHES[name].slice(6 * (i + k), 6 * (i + k) + 3));
      const [u, v] = [b, c].map((p) => p.map((value, k) => value - a[k]));
      const normal = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
      assert.ok(normal[0] * (a[0] + b[0] + c[0]) + normal[1] * (a[1] + b[1] + c[1]) + normal[2] * (a[2] + b[2] + c[2]) > -1e-12, name);
    }
  }
});

test("a vertex that triangles share is kept once", () => {
  const vertices = painted(MESHES.box, [1, 0, 0], 3);
  const { unique, order } = shared(vertices);
  assert.deepEqual([order.length, unique.length / 10], [36, 24]);
  order.forEach((row, i) => assert.deepEqual(unique.slice(10 * row, 10 * row + 10), vertices.slice(10 * i, 10 * i + 10)));
});

test("each link of a robot moves with the joints before it, in groups that are drawn at once", () => {
  const none = rigid([0, 0, 0], [0, 0, 0]);
  const chain = (left) => ({
    visuals: [{ mesh: "box", at: none, color: [1, 0, 0] }],
    children: left ? [{ name: `${left}`, at: rigid([1, 0, 0], [0, 0, 0]), axis: [0, 0, 1], fixed: left > 1, link: chain(left - 1) }] : [],
  });
  const mesh = new RobotMesh(chain(ROWS), 0);
  const groups = mesh.move(none, () => Math.PI / 2);
  assert.deepEqual(groups.map((each) => each.length), [16 * ROWS, 16]);
  assert.deepEqual([...groups[1].slice(12, 15)].map(Math.round), [ROWS, 0, 0]);
  assert.deepEqual([...groups[1].slice(0, 2)].map(Math.round), [0, 1], "the last joint turns");
  assert.equal(mesh.vertices[1].length, 36 * 10);
});
