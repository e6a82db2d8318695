// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { Replay } from "../../../hexapod_control/web/static/drawing/replay.js";

const frames = () => [0.5, 0.6, 0.7, 0.8].map((at) => ({ at }));

test("frames are handed out once, at their times", () => {
  const replay = new Replay("a", frames());
  assert.equal(replay.advance(0).at, 0.5);
  assert.equal(replay.advance(0.04), null);
  assert.equal(replay.advance(0.07).at, 0.6);
  assert.equal(replay.advance(0.1).at, 0.7);
});

test("a replay stops at its end and starts again from the beginning", () => {
  const replay = new Replay("a", frames());
  assert.equal(replay.advance(10).at, 0.8);
  assert.equal(replay.playing, false);
  replay.toggle();
  assert.equal(replay.advance(0).at, 0.5);
});

test("while it is paused time does not pass, and any time can be shown", () => {
  const replay = new Replay("a", frames());
  replay.toggle();
  assert.equal(replay.advance(0.2).at, 0.5);
  replay.seek(0.75);
  assert.equal(replay.advance(5).at, 0.7);
  replay.seek(99);
  assert.equal(replay.at, 0.8);
});

test("a recording without frames shows nothing", () => assert.equal(new Replay("a", []).advance(1), null));
