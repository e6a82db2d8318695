// SPDX-License-Identifier: Apache-2.0
// Settings: top speeds, feel of the sticks, a gamepad as it is read, sounds, battery; profiles on the robot, and undo.

import { feel, FEEL, setFeel, shape, sound } from "../controls/feel.js";
import { t } from "../texts/texts.js";
import { explain, put } from "./header.js";
import { deleteButton, itemButton } from "./item_buttons.js";

const DEG = 180 / Math.PI;
const AXES = /** @type {const} */ (["vx", "vy", "wz"]);
const SLOWEST = 0.1; // share of what the robot can do
const STEP = 0.05; // of that share
const ONE_CHANGE = 1500; // [ms] between two messages of a slider that is moved
const MOST_UNDONE = 30; // changes
const DELAY = 100; // [ms] from the last move of a slider to its effect
const PADS = ["A", "B", "X", "Y", "L1", "R1", "LT", "RT", "Back", "Start", "", "", "▲", "▼", "◀", "▶"]; // buttons by number
/** @typedef {[string, Record<string, any>]} Change kind of a message and its fields; "feel" is for this page */
/** @typedef {{name: string, gait: string, values: Record<string, number>}} Profile */
/** @type {Record<string, (status: any) => Record<string, any>>} */
const BEFORE = {
  gait: (status) => ({ name: status.selected_gait }),
  speed: (status) => ({ share: status.speed }),
  lift: (status) => ({ share: status.lift ?? 1 }),
  limits: (status) => tops(status),
};

export class SettingsPanel {
  /** @type {{at: number, changes: Change[]}[]} */
  undone = []; // how to undo each change, the newest last
  /** @type {number[]} */
  most = [0, 0, 0]; // [m/s, m/s, rad/s] that the robot could do so far
  /** @type {any} */
  newest = null;
  undoes = false;
  /** @type {Profile[]} */
  profiles = []; // on the robot
  movedAt = -Infinity; // [ms] of a slider, which then waits for the robot to report its value

  /**
   * @param {Document} root
   * @param {import("../connection.js").Connection} connection
   * @param {import("../controls/inputs.js").Gamepads} gamepads
   */
  constructor(root, connection, gamepads) {
    this.connection = connection;
    this.gamepads = gamepads;
    /** @type {(id: string) => any} */
    this.find = (id) => root.getElementById(id);
    for (const axis of AXES) this.slider(`top-${axis}`, () => this.limit());
    for (const name of /** @type {const} */ (["dead_zone", "curve"])) this.slider(name, () => this.change({ [name]: Number(this.find(name).value) }), 0);
    this.find("sounds").onchange = () => {
      this.change({ sounds: Number(this.find("sounds").checked) });
      sound("done");
    };
    this.find("undo").onclick = () => this.undo();
    this.find("profile-save").onclick = () => this.save();
    this.find("robot-save").onclick = () => this.saveInRobotFile();
    connection.on("sent", ({ kind }) => this.note(kind));
    connection.on("profiles", (detail) => this.take(detail.list));
    this.canvas = /** @type {HTMLCanvasElement} */ (this.find("feel-curve"));
    this.find("profile-name").placeholder = t("profile_name");
    this.showFeel();
    this.showUndo();
  }

  /**
   * @param {string} id
   * @param {() => void} effect follows the last move of the slider
   */
  slider(id, effect, delay = DELAY) {
    let timer = 0;
    this.find(id).addEventListener("input", () => {
      this.movedAt = performance.now();
      this.say();
      clearTimeout(timer);
      if (delay) timer = setTimeout(effect, delay);
      else effect();
    });
  }

  // --- what the robot does ---------------------------------------------------------------------------------

  /** @param {any} status */
  status(status) {
    this.newest = status;
    const set = tops(status);
    AXES.forEach((axis, i) => {
      this.most[i] = Math.max(this.most[i], status.limits[i], set[axis]);
      const slider = this.find(`top-${axis}`);
      if (document.activeElement !== slider && this.most[i] && performance.now() - this.movedAt > ONE_CHANGE) slider.value = set[axis] ? Math.round(set[axis] / this.most[i] / STEP) * STEP : 1;
    });
    this.say();
    const { battery, battery_limits: limits } = status;
    this.find("robot-row").hidden = !limits;
    ["battery-low", "battery-end"].forEach((id, i) => (this.find(id).value ||= limits ? String(limits[i]) : ""));
    put(this.find("battery-note"), !battery ? t("battery_unknown") : t(limits ? "battery_note" : "battery_only", { volts: battery.volts.toFixed(1), warn: limits?.[0].toFixed(1), sit: limits?.[1].toFixed(1) }));
  }

  limit() {
    const shares = AXES.map((axis) => Number(this.find(`top-${axis}`).value));
    this.connection.send("limits", Object.fromEntries(AXES.map((axis, i) => [axis, shares[i] >= 1 ? 0 : Math.max(SLOWEST, shares[i]) * this.most[i]])));
  }

  // The values beside the sliders.
  say() {
    AXES.forEach((axis, i) => {
      const share = Number(this.find(`top-${axis}`).value);
      const speed = share * this.most[i];
      put(this.find(`top-${axis}-text`), share >= 1 ? t("top_free") : axis === "wz" ? `${Math.round(speed * DEG)} °/s` : `${speed.toFixed(2)} m/s`);
    });
    for (const name of ["dead_zone", "curve"]) put(this.find(`${name}-text`), `${this.find(name).value} %`);
  }

  // --- feel ------------------------------------------------------------------------------------------------

  /** @param {Partial<import("../controls/feel.js").Feel>} part */
  change(part) {
    this.note("feel");
    setFeel(part);
    this.showFeel();
  }

  showFeel() {
    this.find("dead_zone").value = feel.dead_zone;
    this.find("curve").value = feel.curve;
    this.find("sounds").checked = Boolean(feel.sounds);
    this.say();
  }

  // The curve, and where the sticks of the gamepad are on it; its pressed buttons. Called for every frame.
  draw() {
    if (!this.canvas.offsetParent) return;
    const { pad } = this.gamepads;
    const [width, height] = [(this.canvas.width = this.canvas.clientWidth), (this.canvas.height = this.canvas.clientHeight)];
    const c = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d"));
    const style = getComputedStyle(this.canvas);
    const at = (/** @type {number} */ value) => /** @type {[number, number]} */ ([((value + 1) / 2) * width, ((1 - shape(value)) / 2) * height]);
    c.strokeStyle = style.borderTopColor;
    c.strokeRect(0, height / 2, width, 0);
    c.strokeRect(width / 2, 0, 0, height);
    c.strokeStyle = c.fillStyle = style.color;
    c.lineWidth = 2;
    c.beginPath();
    for (let i = -50; i <= 50; i++) c.lineTo(...at(i / 50));
    c.stroke();
    for (const value of pad?.axes.slice(0, 4) ?? []) {
      c.beginPath();
      c.arc(...at(value), 5, 0, 7);
      c.fill();
    }
    const pressed = pad?.buttons.map((button, number) => (button.pressed ? PADS[number] : "")).filter(Boolean).join(" ");
    const axes = pad?.axes.slice(0, 4).map((value) => shape(value).toFixed(2)).join("  ");
    put(this.find("pad-live"), pad ? `${pad.id}\n${t(`pad_mode_${this.gamepads.mode}`)}\n${axes}\n${pressed || "–"}` : t("pad_none"));
  }

  // --- undo --------------------------------------------------------------------------------------------------

  /**
   * Keeps the values from before a change.
   * @param {string} kind
   */
  note(kind) {
    if (this.undoes || (kind !== "feel" && (!BEFORE[kind] || !this.newest))) return;
    const now = performance.now();
    const last = this.undone.at(-1);
    const goesOn = last?.changes.length === 1 && last.changes[0][0] === kind && now - last.at < ONE_CHANGE;
    if (goesOn) last.at = now;
    else this.keep([this.before(kind)]);
  }

  /**
   * @param {string} kind
   * @returns {Change}
   */
  before(kind) {
    return [kind, kind === "feel" ? { ...feel } : BEFORE[kind](this.newest)];
  }

  /** @param {Change[]} changes */
  keep(changes) {
    this.undone.push({ at: performance.now(), changes });
    this.undone.splice(0, this.undone.length - MOST_UNDONE);
    this.showUndo();
  }

  undo() {
    const last = this.undone.pop();
    this.movedAt = -Infinity;
    if (last) this.make(last.changes);
    this.showUndo();
  }

  showUndo() {
    const last = this.undone.at(-1);
    put(this.find("undo"), last ? t("undo_of", { what: named(last.changes) }) : t("undo"));
    explain(this.find("undo"), last ? null : ["undo_nothing", {}]);
  }

  /** @param {Change[]} changes */
  make(changes) {
    this.undoes = true;
    for (const [kind, fields] of changes) {
      if (kind === "feel") setFeel(fields);
      else this.connection.send(kind, fields);
    }
    this.undoes = false;
    this.showFeel();
  }

  // --- profiles --------------------------------------------------------------------------------------------------

  save() {
    const name = this.find("profile-name");
    if (!name.value) name.value = t("profile_number", { number: this.find("profiles").children.length + 1 });
    const { selected_gait: gait, speed, lift } = this.newest;
    this.keepProfile(name.value);
    this.connection.send("profile", { act: "save", name: name.value, gait, values: { speed, lift: lift ?? 1, ...tops(this.newest), ...feel } });
    name.value = "";
  }

  /**
   * Keeps the profile of a name as it is before it is overwritten or deleted; none is deleted again.
   * @param {string} name
   */
  keepProfile(name) {
    const file = name.replace(/[^\p{L}\p{N}_ -]/gu, "").trim(); // as file_stem in names.py
    const before = this.profiles.find((profile) => profile.name === file);
    this.keep([["profile", before ? { act: "save", name: file, gait: before.gait, values: before.values } : { act: "delete", name }]]);
  }

  // The present gait and the limits of the battery; the robot tells whether its file was written.
  saveInRobotFile() {
    const [warn, critical] = ["battery-low", "battery-end"].map((id) => Number(this.find(id).value));
    this.connection.send("profile", { act: "robot", name: "", gait: this.newest.selected_gait, values: { warn, critical } });
    this.keep([["profile", { act: "restore", name: "" }]]);
  }

  /** @param {Profile} profile */
  apply({ gait, values }) {
    const { speed = 0.5, lift = 1, vx = 0, vy = 0, wz = 0 } = values;
    this.keep(["gait", "speed", "lift", "limits", "feel"].map((kind) => this.before(kind)));
    this.make([["gait", { name: gait }], ["speed", { share: speed }], ["lift", { share: lift }], ["limits", { vx, vy, wz }], ["feel", { ...FEEL, ...values }]]);
  }

  /** @param {Profile[]} profiles */
  take(profiles) {
    this.profiles = profiles;
    const lines = profiles.map((profile) => {
      const buttons = Object.assign(document.createElement("div"), { className: "row" });
      const drop = deleteButton(profile.name, () => {
        this.keepProfile(profile.name);
        this.connection.send("profile", { act: "delete", name: profile.name });
      });
      buttons.append(itemButton("profile_apply", profile.name, "robot", () => this.apply(profile)), drop);
      const item = document.createElement("li");
      item.append(Object.assign(document.createElement("b"), { textContent: profile.name }), buttons);
      return item;
    });
    this.find("profiles").replaceChildren(...lines);
  }
}

/**
 * What undoing these changes brings back.
 * @param {Change[]} changes
 */
function named(changes) {
  const [[kind, { act, name }]] = changes;
  if (changes.length > 1) return t("profile");
  return act === "save" || act === "delete" ? t("undo_profile_of", { name }) : t(`undo_${kind}`);
}

/**
 * The top speeds that are set, 0 for what the robot can do.
 * @param {any} status
 */
function tops({ top_speeds }) {
  return Object.fromEntries(AXES.map((axis, i) => [axis, top_speeds[i] ?? 0]));
}
