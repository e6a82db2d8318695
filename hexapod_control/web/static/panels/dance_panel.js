// SPDX-License-Identifier: Apache-2.0
// Composing a dance: steps in a row, poses taken from the robot, tried out at once; the robot keeps it as a motion file.

import { t } from "../texts/texts.js";
import { Music, onBeats } from "./music.js";
import { deleteButton, itemButton, saveFile } from "./item_buttons.js";

const RAD = 180 / Math.PI;
const SHORTEST = 0.3; // [s] of a step
/** @typedef {Record<string, Record<string, number>>} Step of a motion file: {kind: values} */
/** @type {Record<string, {symbol: string, values: Record<string, number>, sliders: [string, number, number, number][]}>} */
const KINDS = {
  pose: { symbol: "◆", values: { duration: 1 }, sliders: [["z", -0.03, 0.03, 0.005], ["roll_deg", -12, 12, 1], ["pitch_deg", -12, 12, 1], ["yaw_deg", -15, 15, 1]] },
  wait: { symbol: "‖", values: { duration: 0.5 }, sliders: [] },
  walk: { symbol: "↑", values: { x: 0.05, yaw_deg: 0, duration: 2 }, sliders: [["x", -0.1, 0.1, 0.01], ["yaw_deg", -30, 30, 5]] },
  sway: { symbol: "≈", values: { x: 0.015, y: 0.015, period: 2, rounds: 1 }, sliders: [["x", 0, 0.03, 0.005], ["y", 0, 0.03, 0.005]] },
};

export class DancePanel {
  /** @type {Step[]} */
  steps = [];
  chosen = -1; // number of the step that is edited
  /** @type {{name: string, steps: Step[], beats: number[], text: string}[]} */
  saved = [];
  /** @type {number[]} */
  beats = []; // [s] since the dance begins
  music = new Music();
  awaited = false; // the music begins with the dance

  /**
   * @param {Document} root
   * @param {import("../connection.js").Connection} connection
   * @param {import("../controls/body_pose.js").BodyPose} body
   * @param {() => void} open shows this panel
   */
  constructor(root, connection, body, open) {
    this.connection = connection;
    this.body = body;
    /** @type {(id: string) => any} */
    const find = (id) => root.getElementById(id);
    this.row = find("dance-steps");
    this.values = find("dance-values");
    this.name = find("dance-name");
    this.list = find("dances");
    for (const kind of Object.keys(KINDS)) find(`add-${kind}`).onclick = () => this.add(kind);
    find("step-earlier").onclick = () => this.move(-1);
    find("step-later").onclick = () => this.move(1);
    find("step-remove").onclick = () => this.remove();
    find("dance-play").onclick = () => ((this.awaited = this.music.sound !== null), this.send("play"));
    this.track = find("beat-track");
    this.note = find("music-note");
    this.snap = find("snap");
    this.file = find("music-file");
    this.listen = find("music-play");
    this.tap = find("music-tap");
    find("music-open").onclick = () => this.file.click();
    this.file.onchange = () => this.open(this.file.files[0]);
    this.listen.onclick = () => (this.music.place === null ? this.music.play() : this.music.stop(), this.showBeats());
    this.tap.onclick = () => (this.music.tap(), this.takeBeats());
    this.snap.onchange = () => this.show();
    find("dance-save").onclick = () => this.send("save");
    find("dance-open").onclick = open;
    find("dance-new").onclick = () => this.edit("", []);
    this.showPanel = open;
    connection.on("dances", (detail) => this.take(detail.list));
    this.edit("", []);
  }

  /** @param {string} act */
  send(act) {
    if (!this.name.value) this.name.value = t("dance_number", { number: this.saved.length + 1 });
    const length = this.ends().at(-1) ?? 0;
    this.connection.send("dance", { act, name: this.name.value, steps: this.steps, beats: this.beats.filter((beat) => beat <= length) });
  }

  // --- music ---------------------------------------------------------------------------------------------------------

  /** @param {File | undefined} file of this device, which is not sent anywhere */
  async open(file) {
    if (!file) return;
    this.file.value = "";
    this.note.textContent = t("music_reading");
    try {
      await this.music.open(file);
    } catch {
      this.note.textContent = t("music_unreadable", { file: file.name });
      return;
    }
    this.takeBeats();
  }

  takeBeats() {
    this.beats = this.music.beats.map((beat) => Math.round(1000 * (beat - this.music.start)) / 1000);
    this.show();
  }

  // The times [s] at which the steps end.
  ends() {
    let at = 0;
    return this.steps.map((step) => (at += seconds(step)));
  }

  snapToBeats() {
    if (!this.beats.length || !this.snap.checked) return;
    const durations = onBeats(this.steps.map(seconds), this.beats, SHORTEST);
    this.steps.forEach((step, number) => {
      const [values] = Object.values(step);
      if ("period" in values) values.period = Math.round((1000 * durations[number]) / values.rounds) / 1000;
      else values.duration = durations[number];
    });
  }

  // The beats, and the steps below them, along the time.
  showBeats() {
    const any = this.beats.length > 0;
    this.listen.hidden = this.tap.hidden = !this.music.sound;
    this.tap.disabled = this.music.place === null;
    this.listen.setAttribute("aria-pressed", String(this.music.place !== null));
    this.track.hidden = this.snap.parentElement.hidden = !any;
    if (!any) return void (this.note.textContent = this.music.sound ? t("music_no_beats") : "");
    const perMinute = this.beats.length > 1 ? Math.round((60 * (this.beats.length - 1)) / (this.beats[this.beats.length - 1] - this.beats[0])) : 0;
    this.note.textContent = t("music_beats", { count: this.beats.length, value: perMinute });
    this.track.setAttribute("aria-label", this.note.textContent);
    const [width, height] = [this.track.clientWidth * devicePixelRatio, this.track.clientHeight * devicePixelRatio];
    if (!width) return;
    Object.assign(this.track, { width, height });
    const style = getComputedStyle(this.track);
    const ends = this.ends();
    const scale = width / Math.max(4, 1.1 * (ends.at(-1) ?? 0));
    const pen = this.track.getContext("2d");
    pen.fillStyle = style.getPropertyValue("--muted");
    for (const beat of this.beats) pen.fillRect(beat * scale, 0, devicePixelRatio, height);
    ends.forEach((end, number) => {
      pen.fillStyle = style.getPropertyValue(number === this.chosen ? "--accent" : "--line");
      pen.fillRect((ends[number - 1] ?? 0) * scale + 1, height / 2, (end - (ends[number - 1] ?? 0)) * scale - 2, height / 2);
    });
  }

  /**
   * Begins and ends the music with the dance; called thirty times a second.
   * @param {any} state
   */
  update({ motion }) {
    const plays = Boolean(motion) && motion.phase !== "rehearse";
    if (plays && this.awaited) this.music.play(this.music.start);
    else if (!plays && this.plays) this.music.stop();
    if (plays) this.awaited = false;
    this.plays = plays;
  }

  /** @param {string} kind */
  add(kind) {
    const values = { ...KINDS[kind].values, ...(kind === "pose" ? this.pose() : {}) };
    this.chosen += 1;
    this.steps.splice(this.chosen, 0, { [kind]: values });
    this.show();
  }

  // The present pose of the body, in the units of a motion file.
  pose() {
    const { x, y, roll, pitch, yaw } = this.body.target;
    return Object.fromEntries(Object.entries({ x, y, z: this.body.height, roll_deg: roll * RAD, pitch_deg: pitch * RAD, yaw_deg: yaw * RAD }).map(([name, value]) => [name, Math.round(1000 * value) / 1000]));
  }

  /** @param {number} way */
  move(way) {
    const to = this.chosen + way;
    if (!this.steps[this.chosen] || to < 0 || to >= this.steps.length) return;
    this.steps.splice(to, 0, ...this.steps.splice(this.chosen, 1));
    this.chosen = to;
    this.show();
  }

  remove() {
    this.steps.splice(this.chosen, 1);
    this.chosen = Math.min(this.chosen, this.steps.length - 1);
    this.show();
  }

  /**
   * @param {string} name
   * @param {Step[]} steps
   * @param {number[]} beats
   */
  edit(name, steps, beats = []) {
    this.name.value = name;
    this.beats = beats;
    this.music.stop();
    this.music.sound = null;
    this.steps = structuredClone(steps);
    this.chosen = steps.length - 1;
    this.show();
  }

  /** @param {number} number */
  choose(number) {
    this.chosen = number;
    this.try(this.steps[number]);
    this.show();
  }

  // The robot takes the pose of a step.
  /** @param {Step} step */
  try({ pose }) {
    if (pose) this.body.set({ x: pose.x, y: pose.y, z: pose.z, roll: pose.roll_deg / RAD, pitch: pose.pitch_deg / RAD, yaw: pose.yaw_deg / RAD });
  }

  show() {
    this.snapToBeats();
    this.showBeats();
    this.row.replaceChildren(...this.steps.map((step, number) => this.block(step, number)));
    this.values.replaceChildren();
    const step = this.steps[this.chosen];
    this.values.parentElement.hidden = !step;
    this.name.parentElement.hidden = !this.steps.length;
    if (!step) return;
    const [[kind, values]] = Object.entries(step);
    this.values.append(this.slider(values, kind === "sway" ? "period" : "duration", SHORTEST, 6, 0.1));
    for (const [key, least, most, size] of KINDS[kind].sliders) this.values.append(this.slider(values, key, least, most, size));
  }

  /**
   * @param {Step} step
   * @param {number} number
   */
  block(step, number) {
    const [kind] = Object.keys(step);
    const length = seconds(step);
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: `${KINDS[kind].symbol} ${length.toFixed(1)}`, onclick: () => this.choose(number) });
    button.style.flexGrow = String(length);
    button.setAttribute("aria-pressed", String(number === this.chosen));
    button.setAttribute("aria-label", t("step_of", { number: number + 1, kind: t(`add_${kind}`), seconds: length.toFixed(1) }));
    const item = document.createElement("li");
    item.style.flexGrow = String(length);
    item.append(button);
    return item;
  }

  /**
   * @param {Record<string, number>} values
   * @param {string} key
   * @param {number} least
   * @param {number} most
   * @param {number} size of a step
   */
  slider(values, key, least, most, size) {
    const label = Object.assign(document.createElement("label"), { className: "wide-row" });
    const name = Object.assign(document.createElement("span"), { textContent: t(`step_${key}`) });
    const output = document.createElement("output");
    const input = Object.assign(document.createElement("input"), { type: "range", min: least, max: most, step: size, value: values[key] });
    const digits = key === "duration" || key === "period" ? 2 : 3;
    const say = () => (output.textContent = String(Number(values[key].toFixed(digits))));
    input.oninput = () => {
      values[key] = Math.round(1000 * Number(input.value)) / 1000;
      this.snapToBeats();
      this.showBeats();
      say();
      if (key !== "duration") this.try(this.steps[this.chosen]);
      this.row.replaceChildren(...this.steps.map((step, number) => this.block(step, number)));
    };
    say();
    label.append(name, input, output);
    return label;
  }

  /** @param {{name: string, steps: Step[], beats: number[], text: string}[]} dances */
  take(dances) {
    this.saved = dances;
    this.list.replaceChildren(...dances.map((dance) => this.line(dance)));
  }

  /** @param {{name: string, steps: Step[], beats: number[], text: string}} dance */
  line({ name, steps, beats, text }) {
    const item = document.createElement("li");
    const buttons = Object.assign(document.createElement("div"), { className: "row" });
    buttons.append(
      itemButton("play", name, "torque", () => this.connection.send("dance", { act: "play", name, steps })),
      itemButton("dance_edit", name, "", () => (this.edit(name, steps, beats), this.showPanel())),
      itemButton("dance_file", name, "", () => saveFile(new Blob([text]), `${name}.yaml`)),
      deleteButton(name, () => this.connection.send("dance", { act: "delete", name })),
    );
    item.append(Object.assign(document.createElement("b"), { textContent: name }), buttons);
    return item;
  }
}

/**
 * How long a step lasts [s].
 * @param {Step} step
 */
function seconds(step) {
  const [values] = Object.values(step);
  return values.duration ?? values.period * values.rounds;
}
