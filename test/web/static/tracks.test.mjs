// SPDX-License-Identifier: Apache-2.0
// A dance as two tracks.

import assert from "node:assert/strict";
import test from "node:test";
import { ends, length, place, split, withoutEnd } from "../../../hexapod_control/web/static/panels/tracks.js";

const pose = (duration) => ({ pose: { duration } });
const walk = (duration) => ({ walk: { x: 0.05, duration } });
const wait = (duration) => ({ wait: { duration } });
const circle = { sway: { period: 2, rounds: 3 } };
const leg = { leg: { name: "left_front", x: 0, out: 0, z: 0.03 } };

test("steps one after the other begin at the same times as tracks", () => {
  const steps = [pose(1), walk(2), wait(0.5), leg, circle, wait(1), walk(1)];
  const { body, legs } = split(steps);
  let at = 0;
  const begins = steps.map((step) => [step, (at += length([step])) - length([step])]).filter(([step]) => !step.wait);
  for (const [step, begin] of begins) {
    const track = body.includes(step) ? body : legs;
    assert.ok(Math.abs(ends(track)[track.indexOf(step)] - length([step]) - begin) < 2e-3, JSON.stringify(step));
  }
});

test("a step is placed where its track is free at that time", () => {
  const track = [];
  assert.equal(place(track, walk(1), 2), 1);
  assert.deepEqual(track, [wait(2), walk(1)]);
  assert.equal(place(track, walk(2), 3), 2);
  assert.equal(place(track, walk(3), 2.5), 2); // after what runs then
  assert.equal(place(track, walk(4), 0), 0);
  assert.equal(place(track, walk(5), length(track) + 0.1), 5); // too short a pause is left out
});

test("only pauses at the end are dropped", () => {
  assert.deepEqual(withoutEnd([wait(1), pose(1), wait(1), wait(2)]), [wait(1), pose(1)]);
  assert.deepEqual(withoutEnd([wait(1)]), []);
});
