// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { spaceEye } from "../../../hexapod_control/web/static/controls/posing.js";
import { look, multiply, rigid } from "../../../hexapod_control/web/static/drawing/matrices.js";

// In whose plane (rows of x, y, z) a drag moves things, and from where one sees it.
const PLANES = [
  { view: "front", rows: [1, 2], sign: -1, azimuths: [-0.7, 0.7, 2.5, 3.8], elevations: [0.1, 0.6] },
  { view: "side", rows: [0, 2], sign: 1, azimuths: [0.9, 1.6, -2.2, -0.9], elevations: [0.1, 0.6] },
  { view: "top", rows: [1, 0], sign: -1, azimuths: [0, 1.3, 3.1, -2], elevations: [0.9, 1.4] },
];
const SIZE = [640, 400];

for (const { view, rows, sign, azimuths, elevations } of PLANES)
  test(`a drag in 3D moves things in the plane of the ${view} view as far as the pointer`, () => {
    for (const azimuth of azimuths)
      for (const elevation of elevations) {
        const target = [1, -2, 0.1];
        const flat = Math.cos(elevation);
        const from = [target[0] + flat * Math.cos(azimuth + 0.4), target[1] + flat * Math.sin(azimuth + 0.4), target[2] + Math.sin(elevation)];
        const screen = multiply(look(from, target, SIZE[0] / SIZE[1]), rigid([1, -2, 0], [0, 0, 0.4]));
        const eye = spaceEye(view, screen, SIZE);
        for (const point of [[0, 0, 0.1], [0.15, 0.12, 0.01], [-0.2, 0.1, 0.05]])
          for (const [x, y] of [[10, 0], [0, -15], [-22, 13]]) {
            const [across, up] = eye.way(point, x, y);
            const there = [...point];
            there[rows[0]] += sign * across;
            there[rows[1]] += up;
            const [before, after] = [eye.at(point), eye.at(there)];
            assert.ok(Math.hypot(after[0] - before[0] - x, after[1] - before[1] - y) < 0.1, `${azimuth} ${elevation} ${point}`);
          }
      }
  });
