// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { beatsFromTaps, beatsOf, onBeats } from "../../../hexapod_control/web/static/panels/music.js";

const RATE = 8000; // [Hz]

// A drum on every beat, weaker ones between, a tone and noise.
function music(perMinute, first, seconds, seed) {
  let state = seed;
  const random = () => (state = (state * 16807) % 2147483647) / 2147483647 - 0.5;
  const samples = new Float32Array(RATE * seconds).map((_, i) => 0.05 * Math.sin(i / 5) + 0.02 * random());
  const period = 60 / perMinute;
  for (let k = 0; first + (k * period) / 2 < seconds; k++) {
    const start = Math.round(RATE * (first + (k * period) / 2));
    for (let i = 0; i < 400 && start + i < samples.length; i++) samples[start + i] += (k % 2 ? 0.15 : 0.9) * random() * Math.exp(-i / 120);
  }
  return samples;
}

for (const [perMinute, first] of [[90, 0.31], [120, 0.1], [128, 0.45], [150, 0.2]])
  test(`the beats of music with ${perMinute} beats a minute are found within 30 ms`, () => {
    const beats = beatsOf(music(perMinute, first, 20, perMinute), RATE);
    const period = 60 / perMinute;
    const off = beats.map((beat) => Math.abs(beat - first - Math.round((beat - first) / period) * period));
    assert.ok(Math.abs(beats.length - 20 / period) <= 2, `${beats.length}`);
    assert.ok(off.sort((a, b) => a - b)[Math.floor(0.9 * off.length)] < 0.03, `${off}`);
  });

test("silence and a steady tone have no beats", () => {
  assert.deepEqual(beatsOf(new Float32Array(RATE * 5), RATE), []);
});

test("taps that are off by some hundredths of a second give even beats over the whole music", () => {
  const taps = [2.02, 2.49, 3.01, 3.52, 3.98];
  const beats = beatsFromTaps(taps, 10);
  assert.ok(Math.abs(beats.length - 20) <= 1);
  for (const tap of taps) assert.ok(Math.min(...beats.map((beat) => Math.abs(beat - tap))) < 0.03);
  const steps = beats.slice(1).map((beat, k) => beat - beats[k]);
  assert.ok(Math.max(...steps) - Math.min(...steps) < 0.01);
  assert.deepEqual(beatsFromTaps(taps.slice(0, 3), 10), []);
});

test("steps end on the nearest beat that leaves them long enough, and keep their length after the last one", () => {
  const beats = [0, 0.5, 1, 1.5, 2];
  assert.deepEqual(onBeats([0.6, 0.8, 0.1], beats, 0.3), [0.5, 1, 0.5]);
  assert.deepEqual(onBeats([2.1, 1.7], beats, 0.3), [2, 1.7]);
  assert.deepEqual(onBeats([0.7, 1], [], 0.3), [0.7, 1]);
});
