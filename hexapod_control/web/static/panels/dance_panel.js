// SPDX-License-Identifier: Apache-2.0
// Composing a dance: steps in a row, poses taken from the robot, tried out at once; the robot keeps it as a motion file.

import { t } from "../texts/texts.js";
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
  /** @type {{name: string, steps: Step[], text: string}[]} */
  saved = [];

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
    find("dance-play").onclick = () => this.send("play");
    find("dance-save").onclick = () => this.send("save");
    find("dance-open").onclick = open;
    find("dance-new").onclick = () => this.edit("", []);
    this.open = open;
    connection.on("dances", (detail) => this.take(detail.list));
    this.edit("", []);
  }

  /** @param {string} act */
  send(act) {
    if (!this.name.value) this.name.value = t("dance_number", { number: this.saved.length + 1 });
    this.connection.send("dance", { act, name: this.name.value, steps: this.steps });
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
   */
  edit(name, steps) {
    this.name.value = name;
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
    const [[kind, values]] = Object.entries(step);
    const seconds = values.duration ?? values.period * values.rounds;
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: `${KINDS[kind].symbol} ${seconds.toFixed(1)}`, onclick: () => this.choose(number) });
    button.style.flexGrow = String(seconds);
    button.setAttribute("aria-pressed", String(number === this.chosen));
    button.setAttribute("aria-label", t("step_of", { number: number + 1, kind: t(`add_${kind}`), seconds: seconds.toFixed(1) }));
    const item = document.createElement("li");
    item.style.flexGrow = String(seconds);
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
    const say = () => (output.textContent = String(values[key]));
    input.oninput = () => {
      values[key] = Math.round(1000 * Number(input.value)) / 1000;
      say();
      if (key !== "duration") this.try(this.steps[this.chosen]);
      this.row.replaceChildren(...this.steps.map((step, number) => this.block(step, number)));
    };
    say();
    label.append(name, input, output);
    return label;
  }

  /** @param {{name: string, steps: Step[], text: string}[]} dances */
  take(dances) {
    this.saved = dances;
    this.list.replaceChildren(...dances.map((dance) => this.line(dance)));
  }

  /** @param {{name: string, steps: Step[], text: string}} dance */
  line({ name, steps, text }) {
    const item = document.createElement("li");
    const buttons = Object.assign(document.createElement("div"), { className: "row" });
    buttons.append(
      itemButton("play", name, "torque", () => this.connection.send("dance", { act: "play", name, steps })),
      itemButton("dance_edit", name, "", () => (this.edit(name, steps), this.open())),
      itemButton("dance_file", name, "", () => saveFile(new Blob([text]), `${name}.yaml`)),
      deleteButton(name, () => this.connection.send("dance", { act: "delete", name })),
    );
    item.append(Object.assign(document.createElement("b"), { textContent: name }), buttons);
    return item;
  }
}
