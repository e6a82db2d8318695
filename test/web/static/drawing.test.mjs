import assert from "node:assert/strict";
import { test } from "node:test";
import { hull, turnCentre } from "../../../hexapod_control/web/static/drawing/leg_geometry.js";
import { multiply, rigid } from "../../../hexapod_control/web/static/drawing/matrices.js";
import { Path } from "../../../hexapod_control/web/static/drawing/path.js";
import { Terrain, corners, worldInOdometry } from "../../../hexapod_control/web/static/drawing/terrain.js";

test("the hull of a square leaves out the points inside", () => {
  const found = hull([[0, 0], [1, 0], [1, 1], [0, 1], [0.5, 0.5]]);
  assert.equal(found.length, 4);
  assert.ok(!found.some(([x]) => x === 0.5));
});

test("the centre of rotation is at the side of a turn", () => {
  assert.deepEqual(turnCentre([0.1, 0, 0.5]), [-0, 0.2]);
  assert.equal(turnCentre([0.1, 0, 0]), null);
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

test("the highest box below a point is its ground", () => {
  const terrain = new Terrain([[0, 0, 0.05, 0, 0, 0.2, 0.2, 0.05], [0, 0, 0.1, 0, 0, 0.05, 0.05, 0.1]]);
  assert.deepEqual([[0, 0], [0.15, 0], [1, 0]].map(([x, y]) => Number(terrain.height(x, y).toFixed(3))), [0.2, 0.1, 0]);
  assert.equal(corners([0, 0, 0, 0, 0, 1, 1, 1]).length, 8);
  assert.deepEqual(worldInOdometry([1, 2, 0], [0, 0, 0]), [1, 2, 0]);
});
