// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { History } from "../../../hexapod_control/web/static/plots/history.js";
import { USUAL, catalogue, remembered, stateValues, statusValues } from "../../../hexapod_control/web/static/plots/signals.js";

const LEGS = ["left_front", "right_rear"];

test("values are kept for three minutes and not longer, however many there are", () => {
  const history = new History();
  for (let time = 0; time < 600_000; time += 33) history.add(time, { speed: time });
  assert.ok(history.times.length < 180_000 / 33 + 62);
  assert.equal(history.column("speed").length, history.times.length);
  assert.ok(history.times[0] <= 600_000 - 180_000);
});

test("a value that comes later or is missing is unknown at the other times", () => {
  const history = new History();
  history.add(0, { a: 1 });
  history.add(1, { b: 2 });
  assert.deepEqual(history.column("a"), [1, NaN]);
  assert.deepEqual(history.column("b"), [NaN, 2]);
  assert.deepEqual(history.column("c"), []);
});

test("the first value after a time is found", () => {
  const history = new History();
  for (const time of [10, 20, 30]) history.add(time, {});
  assert.deepEqual([0, 10, 15, 30].map((time) => history.after(time)), [0, 1, 1, 3]);
});

test("every joint, force, speed, tilt, battery and temperature can be plotted, and every column has a value", () => {
  const signals = catalogue(LEGS);
  for (const key of ["left_front_coxa", "right_rear_tibia", "forces", "speed", "tilt", "battery", "temperature", ...USUAL]) assert.ok(signals.has(key), key);
  const state = { joints: [0, 0, Math.PI / 2, 0, 0, 0], body: [0.08, 0.1, 0], commanded: [0.1, 0, 0], achieved: [0.03, 0.04, 0], margin: 0.05, forces: [1, 2] };
  const status = { loops: { web: 50 }, temperatures: { left_front_coxa_joint: 40 }, battery: { volts: 11 } };
  const values = { ...stateValues(state, LEGS), ...statusValues(status) };
  for (const { series } of signals.values()) for (const { column } of series) assert.notEqual(values[column], undefined, column);
  assert.equal(values["left_front_tibia"], 90);
  assert.equal(values.speed, 0.05);
  assert.equal(values["temperature left_front_coxa_joint"], 40);
});

test("unknown values stay unknown", () => {
  const values = stateValues({ joints: null, commanded: null, achieved: null, margin: null, forces: null }, LEGS);
  assert.deepEqual([values.margin, values.speed, values["left_front force"], values.height], [null, null, null, undefined]);
});

test("the choice is remembered, without signals that this robot does not have", () => {
  const known = catalogue(LEGS);
  assert.deepEqual(remembered(null, known), USUAL);
  assert.deepEqual(remembered("speed,left_middle_coxa,tilt", known), ["speed", "tilt"]);
  assert.deepEqual(remembered("", known), []);
});
