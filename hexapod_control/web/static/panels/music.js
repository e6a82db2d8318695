// SPDX-License-Identifier: Apache-2.0
// Music for a dance: a file of this device, which stays there; its beats, found or tapped, and steps that end on them.

const HOP = 0.01; // [s] between two values of the loudness
const PERIODS = [0.33, 1.0]; // [s] of a beat: 180 to 60 a minute
const USUAL = 0.5; // [s] preferred, if a half or a double fits as well
const AROUND = 0.5; // [s] to each side, whose mean is no beat
const PULL = 0.06; // [s] by which a beat may be off its time, towards the loudest onset
const STIFFNESS = 0.3; // part of that by which the next beats move
const MULTIPLES = 8; // of the period, by which it is measured
const MOST = 240; // beats that are kept
const LEAST_TAPS = 4;
const PAUSE = 2; // [s] after which taps begin anew

/**
 * The times [s] of the beats of a piece of music.
 * @param {Float32Array} samples
 * @param {number} rate [Hz]
 * @returns {number[]}
 */
export function beatsOf(samples, rate) {
  const rises = onsets(samples, rate);
  const period = periodOf(rises);
  if (!period) return [];
  const steps = Math.round(period);
  const strength = (/** @type {number} */ start) => {
    let sum = 0;
    for (let at = start; at < rises.length; at += period) sum += rises[Math.round(at)] ?? 0;
    return sum;
  };
  let first = 0;
  for (let start = 1; start < steps; start++) if (strength(start) > strength(first)) first = start;
  const beats = [];
  const reach = Math.round(PULL / HOP);
  for (let at = first; at < rises.length && beats.length < MOST; at += period) {
    let best = Math.round(at);
    for (let near = best - reach; near <= Math.round(at) + reach; near++) if ((rises[near] ?? 0) > (rises[best] ?? 0)) best = near;
    if (rises[best] > 0) at += STIFFNESS * (best - at);
    beats.push(Math.round(at * HOP * 1000) / 1000);
  }
  return beats;
}

/**
 * By how much the loudness rises, above its mean around.
 * @param {Float32Array} samples
 * @param {number} rate [Hz]
 */
function onsets(samples, rate) {
  const size = Math.round(rate * HOP);
  const count = Math.floor(samples.length / size);
  const loud = new Float64Array(count);
  for (let k = 0; k < count; k++) {
    let sum = 0;
    for (let i = k * size; i < (k + 1) * size; i++) sum += samples[i] * samples[i];
    loud[k] = Math.log(1e-4 + Math.sqrt(sum / size));
  }
  const rise = loud.map((value, k) => (k ? Math.max(0, value - loud[k - 1]) : 0));
  const sums = new Float64Array(count + 1);
  for (let k = 0; k < count; k++) sums[k + 1] = sums[k] + rise[k];
  const side = Math.round(AROUND / HOP);
  return rise.map((value, k) => {
    const [from, to] = [Math.max(0, k - side), Math.min(count, k + side)];
    return Math.max(0, value - (sums[to] - sums[from]) / (to - from));
  });
}

/**
 * The period of the beats in values of the loudness; 0 without one.
 * @param {Float64Array} rises
 */
function periodOf(rises) {
  const likeness = (/** @type {number} */ lag) => {
    let sum = 0;
    for (let k = 0; k + lag < rises.length; k++) sum += rises[k] * rises[k + lag];
    return sum / Math.max(1, rises.length - lag);
  };
  let best = 0;
  let most = 0;
  for (let lag = Math.round(PERIODS[0] / HOP); lag <= PERIODS[1] / HOP; lag++) {
    const value = Math.max(likeness(lag), likeness(lag - 1), likeness(lag + 1)) * Math.exp(-0.5 * Math.log2((lag * HOP) / USUAL) ** 2);
    if (value > most) [best, most] = [lag, value];
  }
  for (let times = 2; best && times <= MULTIPLES; times *= 2) {
    const middle = Math.round(best * times);
    let lag = middle;
    for (let near = middle - times; near <= middle + times; near++) if (near < rises.length / 2 && likeness(near) > likeness(lag)) lag = near;
    if (middle < rises.length / 2) best = lag / times;
  }
  return best;
}

/**
 * The beats of a person who taps: the straight line through the taps, over a length [s].
 * @param {number[]} taps [s]
 * @param {number} length [s]
 * @returns {number[]}
 */
export function beatsFromTaps(taps, length) {
  const count = taps.length;
  if (count < LEAST_TAPS) return [];
  const [middle, mean] = [(count - 1) / 2, taps.reduce((sum, tap) => sum + tap, 0) / count];
  let [above, below] = [0, 0];
  taps.forEach((tap, k) => ((above += (k - middle) * (tap - mean)), (below += (k - middle) ** 2)));
  const period = above / below;
  const start = mean - middle * period;
  const first = start - Math.floor(start / period) * period;
  const beats = [];
  for (let at = first; at < length && beats.length < MOST; at += period) beats.push(Math.round(1000 * at) / 1000);
  return beats;
}

/**
 * Durations [s] of steps in a row, each of which ends on a beat; those after the last beat stay as they are.
 * @param {number[]} durations
 * @param {number[]} beats [s] since the dance began
 * @param {number} shortest [s]
 */
export function onBeats(durations, beats, shortest) {
  let at = 0;
  return durations.map((duration) => {
    const end = at + duration;
    const possible = beats.filter((beat) => beat >= at + shortest);
    const beat = possible.reduce((best, each) => (Math.abs(each - end) < Math.abs(best - end) ? each : best), possible[0] ?? end);
    const snapped = end > (beats.at(-1) ?? 0) + shortest ? duration : Math.round(1000 * (beat - at)) / 1000;
    at += snapped;
    return snapped;
  });
}

export class Music {
  /** @type {AudioBuffer | null} */
  sound = null;
  /** @type {number[]} */
  beats = []; // [s] in the music
  /** @type {number[]} */
  taps = [];
  /** @type {AudioContext | undefined} */
  context;

  /** @param {File} file */
  async open(file) {
    this.stop();
    this.context ??= new AudioContext();
    const sound = (this.sound = await this.context.decodeAudioData(await file.arrayBuffer()));
    this.beats = beatsOf(sound.getChannelData(0), sound.sampleRate);
  }

  // Where the dance begins in the music [s]: on the first beat.
  get start() {
    return this.beats[0] ?? 0;
  }

  /** @param {number} from [s] */
  play(from = 0) {
    this.stop();
    if (!this.sound || !this.context) return;
    this.context.resume();
    this.source = new AudioBufferSourceNode(this.context, { buffer: this.sound });
    this.source.connect(this.context.destination);
    this.source.start(0, from);
    this.began = this.context.currentTime - from;
  }

  stop() {
    this.source?.stop();
    this.source = undefined;
    this.taps = [];
  }

  // The present place in the music [s]; null if it does not play.
  get place() {
    return this.source && this.context && this.began !== undefined ? this.context.currentTime - this.began : null;
  }

  // A person taps the beat, while the music plays.
  tap() {
    const at = this.place;
    if (at === null || !this.sound) return;
    if (at - (this.taps.at(-1) ?? at) > PAUSE) this.taps = [];
    this.taps.push(at);
    const beats = beatsFromTaps(this.taps, this.sound.duration);
    if (beats.length) this.beats = beats;
  }
}
