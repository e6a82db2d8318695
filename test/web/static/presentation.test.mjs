// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { hottest, present, short, supply } from "../../../hexapod_control/web/static/panels/presentation.js";

const STANDING = { say: "standing", tone: "good", step: "sit", why: "", locked: [], values: {} };
const KNOWN = { link: "open", lostFor: 0, now: STANDING, me: 1, driver: 1, driverName: "me", asking: false, replayed: false };
const STALE = { say: "stale", tone: "unknown", step: "estop", why: "why_silent", locked: ["drive", "torque", "robot"], values: { node: "inverse_kinematics", age: 4 } };

test("a standing robot can be driven", () => {
  const { text, step, stepWhy, driveWhy, torqueWhy } = present(KNOWN);
  assert.deepEqual([text, step, stepWhy, driveWhy, torqueWhy], [["standing", {}], "sit", null, null, null]);
});

test("the button names the node for which it waits", () => {
  const waiting = { ...STALE, say: "missing", step: "", why: "missing" };
  assert.deepEqual(present({ ...KNOWN, now: waiting }).stepWhy, ["missing", STALE.values]);
});

test("while a node is silent every control says so, and E-STOP is the next step even while another person drives", () => {
  const { stepWhy, driveWhy, torqueWhy, robotWhy, seatWhy } = present({ ...KNOWN, now: STALE });
  const why = ["why_silent", STALE.values];
  assert.deepEqual([stepWhy, driveWhy, torqueWhy, robotWhy, seatWhy], [null, why, why, why, null]);
  assert.equal(present({ ...KNOWN, now: STALE, driver: 2 }).stepWhy, null);
});

test("during a replay the robot is not driven, but its next step stays", () => {
  const shown = present({ ...KNOWN, replayed: true });
  assert.deepEqual([shown.driveWhy, shown.torqueWhy, shown.step, shown.stepWhy], [["why_replay", {}], ["why_replay", {}], "sit", null]);
});

test("without a connection, or while another person drives, everything says why", () => {
  assert.equal(present({ ...KNOWN, link: "lost" }).driveWhy?.[0], "why_offline");
  const watched = { ...KNOWN, driver: 2, driverName: "Ann" };
  assert.deepEqual(present(watched).driveWhy, ["why_driver", { name: "Ann" }]);
  assert.deepEqual([present(watched).step, present(watched).stepWhy], ["request_control", null]);
  assert.equal(present({ ...watched, asking: true }).step, "cancel_request");
  assert.equal(present({ ...KNOWN, now: null }).tone, "unknown");
});

test("names, heat and supply", () => {
  assert.equal(short("left_front_coxa_joint"), "LF coxa");
  assert.deepEqual(hottest({ a: 40, b: 52, c: 51 }), ["b", 52]);
  assert.equal(hottest({}), null);
  assert.deepEqual([11, 10.5, 8].map((volts) => supply({ volts }, [10.5, 8.8])), ["", "warn", "bad"]);
  assert.equal(supply({ volts: 1 }, null), "");
});
