// SPDX-License-Identifier: Apache-2.0
// Composing a dance: two tracks of steps, poses dragged on the picture and tried out at once; the robot keeps it as a motion file.

import { t } from "../texts/texts.js";
import { Music, onBeats } from "./music.js";
import { deleteButton, itemButton, saveFile } from "./item_buttons.js";
import { ends, length, place, seconds, split, trackOf, withoutEnd } from "./tracks.js";
import { inBase } from "../drawing/leg_geometry.js";

const RAD = 180 / Math.PI;
const SHORTEST = 0.3; // [s] of a step
const TOUCH = 44; // [px] of the shortest block
/** @typedef {import("./tracks.js").Step} Step */
/** @typedef {import("./tracks.js").Track} Track */
/** @typedef {{name: string, steps: Step[], legs?: Step[], beats: number[], text: string, saved: number}} Dance */
/** @type {Track[]} */
const TRACKS = ["body", "legs"];
/** @type {Record<string, {symbol: string, values: Record<string, any>, sliders: [string, number, number, number][]}>} */
const KINDS = {
  pose: { symbol: "◆", values: { duration: 1 }, sliders: [["z", -0.03, 0.03, 0.005], ["roll_deg", -12, 12, 1], ["pitch_deg", -12, 12, 1], ["yaw_deg", -15, 15, 1]] },
  wait: { symbol: "‖", values: { duration: 0.5 }, sliders: [] },
  walk: { symbol: "↑", values: { x: 0.05, yaw_deg: 0, duration: 2 }, sliders: [["x", -0.1, 0.1, 0.01], ["yaw_deg", -30, 30, 5]] },
  leg: { symbol: "⊥", values: { name: "", x: 0, out: 0, z: 0.03 }, sliders: [["x", -0.06, 0.06, 0.005], ["out", -0.06, 0.06, 0.005], ["z", 0, 0.1, 0.005]] },
  sway: { symbol: "≈", values: { x: 0.015, y: 0.015, period: 2, rounds: 1 }, sliders: [["x", 0, 0.03, 0.005], ["y", 0, 0.03, 0.005]] },
};

export class DancePanel {
  /** @type {Record<Track, Step[]>} */
  tracks = { body: [], legs: [] };
  /** @type {Track} */
  track = "body"; // and number in it, of the step that is edited
  chosen = -1;
  /** @type {(() => void) | null} */
  poses = null; // called once, before a drag can pose the robot
  dragging = false; // whether a drag on a picture poses the robot
  guided = false; // a foot was moved by this editor
  /** @type {Dance[]} */
  saved = [];
  /** @type {number[]} */
  beats = []; // [s] since the dance begins
  music = new Music();
  awaited = false; // the music begins with the dance

  /**
   * @param {Document} root
   * @param {import("../connection.js").Connection} connection
   * @param {import("../controls/body_pose.js").BodyPose} body
   * @param {import("../drawing/projections.js").Projections} projections
   * @param {() => void} open shows this panel
   */
  constructor(root, connection, body, projections, open) {
    this.connection = connection;
    this.body = body;
    this.projections = projections;
    /** @type {(id: string) => any} */
    const find = (id) => root.getElementById(id);
    this.pane = find("dance");
    this.time = find("dance-steps");
    this.rows = { body: find("dance-body"), legs: find("dance-legs") };
    this.drags = find("dance-drag");
    this.drags.onclick = () => this.pose(!this.dragging);
    this.values = find("dance-values");
    this.name = find("dance-name");
    this.list = find("dances");
    for (const kind of Object.keys(KINDS)) find(`add-${kind}`).onclick = () => this.add(kind);
    find("step-earlier").onclick = () => this.move(-1);
    find("step-later").onclick = () => this.move(1);
    find("step-remove").onclick = () => this.remove();
    find("dance-play").onclick = () => ((this.awaited = this.music.sound !== null), this.send("play"));
    this.beatTrack = find("beat-track");
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
    this.showPanel = () => (this.pose(true), open());
    find("dance-open").onclick = this.showPanel;
    find("dance-new").onclick = () => this.edit("", []);
    connection.on("dances", (detail) => this.take(detail.list));
    this.edit("", []);
  }

  /** @param {string} act */
  send(act) {
    if (!this.name.value) this.name.value = t("dance_number", { number: this.saved.length + 1 });
    const [steps, legs] = TRACKS.map((track) => withoutEnd(this.tracks[track]));
    this.connection.send("dance", { act, name: this.name.value, steps, legs, beats: this.beats.filter((beat) => beat <= this.length) });
  }

  // [s]
  get length() {
    return Math.max(...TRACKS.map((track) => length(withoutEnd(this.tracks[track]))));
  }

  // Plays the dance that was saved last.
  playLast() {
    const dance = this.saved.reduce((/** @type {Dance | null} */ best, each) => (best && best.saved > each.saved ? best : each), null);
    if (dance) this.play(dance);
    return dance?.name ?? "";
  }

  /** @param {Dance} dance */
  play({ name, steps, legs = [] }) {
    this.connection.send("dance", { act: "play", name, steps, legs });
  }

  // --- posing on a picture --------------------------------------------------------------------------------------------

  /** @param {boolean} dragging */
  pose(dragging) {
    this.dragging = dragging;
    if (dragging) this.poses?.();
    if (dragging) this.poses = null;
    this.drags.setAttribute("aria-pressed", String(dragging));
    this.watch();
  }

  // Called when panels open or close, too.
  watch() {
    document.body.toggleAttribute("data-posing", this.posing);
    if (!this.posing && this.guided) this.release();
  }

  get posing() {
    return this.dragging && this.pane.hasAttribute("data-open");
  }

  // The leg of the step that is edited; -1: none.
  get leg() {
    return this.shape?.legs.findIndex(({ name }) => name === this.step?.leg?.name) ?? -1;
  }

  get shape() {
    return this.projections.robot;
  }

  /** @param {Partial<import("../controls/body_pose.js").Pose>} pose that a drag gives the body */
  poseBody(pose) {
    this.body.set(pose);
    if (this.step?.pose) Object.assign(this.step.pose, this.present());
    else this.add("pose");
    this.fill();
  }

  /**
   * A drag moves a foot.
   * @param {number} leg
   * @param {number[]} point as the picture shows it
   */
  poseFoot(leg, point) {
    if (!this.shape || !this.body.guard()) return;
    const { name, foothold } = this.shape.legs[leg];
    const { x, y, yaw } = this.body.achieved;
    const [c, s] = [Math.cos(yaw), Math.sin(yaw)];
    const [forward, left] = [c * point[0] - s * point[1] + x - foothold[0], s * point[0] + c * point[1] + y - foothold[1]];
    const values = { x: forward, out: left * this.side(leg), z: Math.max(0, point[2] - this.shape.foot_radius) };
    if (this.leg !== leg) this.add("leg");
    if (this.step) this.step.leg = { name, ...Object.fromEntries(Object.entries(values).map(([key, value]) => [key, Math.round(1000 * value) / 1000])) };
    this.guide();
    this.fill();
  }

  /** @param {number} leg */
  side(leg) {
    return Math.sign(this.shape?.legs[leg].hip[1] ?? 0) || 1;
  }

  // The foot of the step that is edited moves to where the step moves it.
  guide() {
    const { leg, shape, step } = this;
    if (leg < 0 || !shape || !step || !this.projections.state) return;
    const { foothold, name } = shape.legs[leg];
    const { x, y, yaw } = this.body.achieved;
    const [forward, left] = [foothold[0] + step.leg.x - x, foothold[1] + step.leg.out * this.side(leg) - y];
    const [c, s] = [Math.cos(yaw), Math.sin(yaw)];
    const point = [c * forward + s * left, c * left - s * forward, step.leg.z + shape.foot_radius];
    const [px, py, pz] = inBase(this.projections.state.body)(point).map((value) => Math.round(1e4 * value) / 1e4);
    this.guided = true;
    this.body.guide({ leg: name, x: px, y: py, z: pz });
  }

  // Feet that were moved here come down.
  release() {
    if (this.guided) this.body.guide({});
    this.guided = false;
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

  snapToBeats() {
    if (!this.beats.length || !this.snap.checked) return;
    for (const track of TRACKS) {
      const durations = onBeats(this.tracks[track].map(seconds), this.beats, SHORTEST);
      this.tracks[track].forEach((step, number) => {
        const [values] = Object.values(step);
        if ("period" in values) values.period = Math.round((1000 * durations[number]) / values.rounds) / 1000;
        else if ("duration" in values) values.duration = durations[number];
      });
    }
  }

  // The beats along the time.
  showBeats() {
    const any = this.beats.length > 0;
    this.listen.hidden = this.tap.hidden = !this.music.sound;
    this.tap.disabled = this.music.place === null;
    this.listen.setAttribute("aria-pressed", String(this.music.place !== null));
    this.beatTrack.hidden = this.snap.parentElement.hidden = !any;
    if (!any) return void (this.note.textContent = this.music.sound ? t("music_no_beats") : "");
    const perMinute = this.beats.length > 1 ? Math.round((60 * (this.beats.length - 1)) / (this.beats[this.beats.length - 1] - this.beats[0])) : 0;
    this.note.textContent = t("music_beats", { count: this.beats.length, value: perMinute });
    this.beatTrack.setAttribute("aria-label", this.note.textContent);
    const [width, height] = [this.beatTrack.clientWidth, this.beatTrack.clientHeight].map((size) => size * devicePixelRatio);
    if (!width) return;
    Object.assign(this.beatTrack, { width, height });
    const pen = this.beatTrack.getContext("2d");
    pen.fillStyle = getComputedStyle(this.beatTrack).getPropertyValue("--muted");
    for (const beat of this.beats) pen.fillRect((beat * width) / (this.span || 4), 0, devicePixelRatio, height);
  }

  // What the rows show [s].
  get span() {
    return Math.max(...TRACKS.map((track) => length(this.tracks[track])));
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

  // The step that is edited.
  get step() {
    return this.steps[this.chosen];
  }

  // Those of its track.
  get steps() {
    return this.tracks[this.track];
  }

  /** @param {string} kind of a step that begins when the present one ends */
  add(kind) {
    const values = { ...KINDS[kind].values, ...(kind === "pose" ? this.present() : {}) };
    if (kind === "leg") values.name = this.shape?.legs[0].name ?? "";
    const at = ends(this.steps)[this.chosen] ?? 0;
    if (kind !== "wait") this.track = trackOf(kind);
    this.chosen = place(this.steps, { [kind]: values }, at);
    this.show();
  }

  // The present pose of the body, in the units of a motion file.
  present() {
    const { x, y, roll, pitch, yaw } = this.body.target;
    return Object.fromEntries(Object.entries({ x, y, z: this.body.height, roll_deg: roll * RAD, pitch_deg: pitch * RAD, yaw_deg: yaw * RAD }).map(([name, value]) => [name, Math.round(1000 * value) / 1000]));
  }

  /** @param {number} way */
  move(way) {
    const to = this.chosen + way;
    if (!this.step || to < 0 || to >= this.steps.length) return;
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
   * @param {Step[]} [legs] none: the steps follow each other
   */
  edit(name, steps, beats = [], legs) {
    this.name.value = name;
    this.beats = beats;
    this.music.stop();
    this.music.sound = null;
    this.tracks = structuredClone(legs ? { body: steps, legs } : split(steps));
    this.track = this.tracks.body.length ? "body" : "legs";
    this.chosen = this.steps.length - 1;
    this.release();
    this.show();
  }

  /**
   * @param {Track} track
   * @param {number} number
   */
  choose(track, number) {
    [this.track, this.chosen] = [track, number];
    this.try();
    this.show();
  }

  // The robot takes the pose of the step that is edited.
  try() {
    const { pose, leg } = this.step ?? {};
    if (leg) this.guide();
    else this.release();
    if (pose) this.body.set({ x: pose.x, y: pose.y, z: pose.z, roll: pose.roll_deg / RAD, pitch: pose.pitch_deg / RAD, yaw: pose.yaw_deg / RAD });
  }

  show() {
    this.snapToBeats();
    this.showBeats();
    this.fill();
    this.values.replaceChildren();
    const { step } = this;
    this.values.parentElement.hidden = !step;
    this.name.parentElement.hidden = !this.span;
    if (!step) return;
    const [[kind, values]] = Object.entries(step);
    if (kind === "leg") this.values.append(this.legChoice(values));
    else this.values.append(this.slider(values, kind === "sway" ? "period" : "duration", SHORTEST, 6, 0.1));
    for (const [key, least, most, size] of KINDS[kind].sliders) this.values.append(this.slider(values, key, least, most, size));
  }

  // The blocks of both tracks; all have the same scale, in which the shortest can be touched.
  fill() {
    const all = TRACKS.flatMap((track) => this.tracks[track]);
    const scale = TOUCH / Math.min(...all.map(seconds));
    const wide = (/** @type {number} */ long) => `max(${(100 * long) / (this.span || 1)}%, ${scale * long}px)`;
    for (const track of TRACKS) {
      this.rows[track].style.width = wide(length(this.tracks[track]));
      this.rows[track].replaceChildren(...this.tracks[track].map((step, number) => this.block(track, step, number)));
    }
    this.beatTrack.style.width = this.span ? wide(this.span) : "";
    this.time.hidden = !all.length && !this.beats.length;
  }

  /**
   * @param {Track} track
   * @param {Step} step
   * @param {number} number
   */
  block(track, step, number) {
    const [[kind, values]] = Object.entries(step);
    const long = seconds(step).toFixed(1);
    const what = kind === "leg" ? `${t("add_leg")} ${legName(values.name)}` : t(`add_${kind}`);
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: `${KINDS[kind].symbol} ${long}`, onclick: () => this.choose(track, number) });
    button.setAttribute("aria-pressed", String(track === this.track && number === this.chosen));
    button.setAttribute("aria-label", t("step_of", { number: number + 1, kind: what, seconds: long }));
    const item = document.createElement("li");
    item.style.flexGrow = String(seconds(step));
    item.append(button);
    return item;
  }

  /** @param {Record<string, any>} values of a step that moves a foot */
  legChoice(values) {
    const label = Object.assign(document.createElement("label"), { className: "row", textContent: `${t("leg")} ` });
    const select = document.createElement("select");
    select.append(...(this.shape?.legs ?? []).map(({ name }) => new Option(legName(name), name)));
    select.value = values.name;
    select.onchange = () => {
      values.name = select.value;
      this.release();
      this.try();
      this.fill();
    };
    label.append(select);
    return label;
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
      if (key !== "duration") this.try();
      this.fill();
    };
    say();
    label.append(name, input, output);
    return label;
  }

  /** @param {Dance[]} dances */
  take(dances) {
    this.saved = dances;
    this.list.replaceChildren(...dances.map((dance) => this.line(dance)));
  }

  /** @param {Dance} dance */
  line(dance) {
    const { name, steps, legs, beats, text } = dance;
    const item = document.createElement("li");
    const buttons = Object.assign(document.createElement("div"), { className: "row" });
    buttons.append(
      itemButton("play", name, "torque", () => this.play(dance)),
      itemButton("dance_edit", name, "", () => (this.edit(name, steps, beats, legs), this.showPanel())),
      itemButton("dance_file", name, "", () => saveFile(new Blob([text]), `${name}.yaml`)),
      deleteButton(name, () => this.connection.send("dance", { act: "delete", name })),
    );
    item.append(Object.assign(document.createElement("b"), { textContent: name }), buttons);
    return item;
  }
}

/** @param {string} name */
const legName = (name) => name.replaceAll("_", " ");
