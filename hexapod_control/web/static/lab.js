// SPDX-License-Identifier: Apache-2.0
// The gait laboratory: sends the values of its sliders, and plays the planned cycle that the robot's computer answers.

import { Connection } from "./connection.js";
import { interpolate } from "./drawing/leg_geometry.js";
import { Path } from "./drawing/path.js";
import { Projections } from "./drawing/projections.js";
import { Scene3d } from "./drawing/scene3d.js";
import { readUrdf } from "./drawing/urdf.js";
import { short } from "./panels/presentation.js";
import { GaitDiagram } from "./plots/gait_diagram.js";
import { load, preferredLanguage, has, t, useLanguage } from "./texts/texts.js";

/**
 * @typedef {{key: string, unit: string, value: number, low: number, high: number, step: number}} Control
 * @typedef {{control: Control, factor: number, digits: number, slider: HTMLInputElement, typed: HTMLInputElement}} Row
 * @typedef {{gait: {duty_factor: number, lift_off: number[]}, frames: RobotState[], period: number, twist: number[], top: number[], margin: number, shape: Shape, final: boolean}} Cycle
 */

/** @type {(id: string) => any} */
const $ = (id) => document.getElementById(id);
const PATIENCE = 3000; // [ms] without an answer, after which the values are sent again
const AXES = ["forward", "left", "turn"];
/** @type {Record<string, [string, number, number]>} */
const UNITS = { m: ["mm", 1000, 0], deg: ["°", 1, 1], "": ["", 1, 2] }; // as shown, factor, digits
/** @type {Record<string, string>} */
const GROUPS = { duty_factor: "gait", lift_off: "gait", speed: "step", "walk.lift_height": "step", outward: "stance", "walk.height": "stance", pose: "pose", leg: "legs" };
const GAIT_KEY = /^(duty_factor|lift_off\.)/;
const LABEL = 34; // [px] as in GaitDiagram

/** A gait diagram of one cycle: filled while a foot is planted. */
class Hildebrand extends GaitDiagram {
  duty = 0.5;
  /** @type {number[]} */
  phases = [];

  /** @param {number} at phase of the cycle */
  draw(at) {
    if (!this.colors.length) return;
    this.paint("gait", (c, y, height, width, leg) => {
      const x = (/** @type {number} */ phase) => LABEL + (width - LABEL) * phase;
      const touchDown = (this.phases[leg] + 1 - this.duty) % 1;
      for (const start of [touchDown - 1, touchDown]) {
        const [from, to] = [Math.max(0, start), Math.min(1, start + this.duty)];
        if (to > from) c.fillRect(x(from), y, x(to) - x(from), height);
      }
      c.fillStyle = this.muted;
      c.fillRect(x(at), y - 2, 1.5, height + 4);
    });
  }
}

/** @type {Row[]} */
const rows = [];
/** @type {Record<string, number>} */
let values = {};
/** @type {any} */
let known = null; // the robot: controls, gaits, own, shape
/** @type {Cycle | null} */
let cycle = null;
let chosen = ""; // gait from which the values were taken
let touched = false; // whether its duty factor or phases were changed
let sentAt = NaN; // [ms] of the request that waits for its answer
let changed = false; // since then
let phase = 0; // share of the cycle that was played
let odom = [0, 0, 0];
let before = 0; // [ms] time of the last frame
let urdf = "";
let drawnShape = "";

document.documentElement.dataset.theme = load("theme") || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
await useLanguage(preferredLanguage(), "lab_");
document.title = t("lab_title");
const connection = new Connection();
const projections = new Projections(document);
const path = (projections.path = new Path());
const scene = new Scene3d($("space-canvas"), $("space-note"));
scene.path = path;
const diagram = new Hildebrand($("diagram"), $("diagram"));
$("axis").replaceChildren(...AXES.map((name) => new Option(t(`lab_axis_${name}`), name)));

// --- values ------------------------------------------------------------------------------------------

/** @param {Control} control */
function addRow(control) {
  const [unit, factor, digits] = control.key === "speed" ? ["%", 100, 0] : UNITS[control.unit];
  const [part, leg] = control.key.split(".");
  const group = GROUPS[control.key] ?? GROUPS[part];
  const key = part === "lift_off" ? "lab_lift_off" : `lab_${control.key.replaceAll(".", "_")}`;
  const name = t(key, { leg: leg?.replaceAll("_", " ") });
  const input = (/** @type {string} */ type) => Object.assign(document.createElement("input"), { type, step: type === "range" ? control.step * factor : "any" });
  const [slider, typed] = [input("range"), input("number")];
  Object.assign(slider, { id: control.key, min: control.low * factor, max: control.high * factor });
  for (const each of [slider, typed]) each.setAttribute("aria-label", name);
  const row = { control, factor, digits, slider, typed };
  slider.oninput = () => setValue(control.key, Number(slider.value) / factor);
  typed.onchange = () => setValue(control.key, Number(typed.value) / factor);
  const box = Object.assign(document.createElement("div"), { className: "wide-row" });
  const value = Object.assign(document.createElement("span"), { className: "typed" });
  value.append(typed, unit);
  box.append(Object.assign(document.createElement("label"), { htmlFor: control.key, textContent: t(key, { leg: short(leg ?? "") }) }), value, slider);
  $(`group-${group}`).append(box);
  rows.push(row);
}

function showValues() {
  for (const { control, factor, digits, slider, typed } of rows) {
    const shown = (values[control.key] * factor).toFixed(digits);
    if (Number(slider.value) !== Number(shown)) slider.value = shown;
    if (document.activeElement !== typed || Number(typed.value) !== Number(shown)) typed.value = shown;
    slider.setAttribute("aria-valuetext", shown);
  }
  $("gait").value = touched ? "" : chosen;
  diagram.duty = values.duty_factor;
  diagram.phases = legs().map((leg) => values[`lift_off.${leg}`]);
}

const legs = () => /** @type {string[]} */ (known.shape.legs.map((/** @type {LegShape} */ leg) => leg.name));

/**
 * @param {string} key
 * @param {number} value
 */
function setValue(key, value) {
  values[key] = value;
  touched ||= GAIT_KEY.test(key);
  showValues();
  ask();
}

/** @param {string} name */
function chooseGait(name) {
  [chosen, touched] = [name, false];
  Object.assign(values, known.gaits[name]);
  showValues();
  ask();
}

const waits = () => performance.now() - sentAt < PATIENCE;

// Sends the present values once the last request is answered: so as often as the answers come.
function ask() {
  changed = true;
  if (waits() || !known) return;
  const own = touched || known.own.includes(chosen);
  const sent = Object.fromEntries(Object.entries(values).filter(([key]) => own || !GAIT_KEY.test(key)));
  if (!connection.send("laboratory", { act: "plan", gait: own ? "" : chosen, axis: $("axis").value, values: sent })) return;
  [sentAt, changed] = [performance.now(), false];
}

$("gait").onchange = () => $("gait").value && chooseGait($("gait").value);
$("axis").onchange = ask;
$("reset").onclick = () => {
  values = Object.fromEntries(known.controls.map((/** @type {Control} */ { key, value }) => [key, value]));
  chooseGait(Object.keys(known.gaits)[0]);
};
$("controls").onsubmit = (/** @type {Event} */ event) => {
  event.preventDefault();
  connection.send("laboratory", { act: "save", name: $("name").value.trim(), values });
};
for (const what of ["stop", "estop"]) $(what).onclick = () => connection.send("request", { what });

/** @param {PointerEvent} event */
function dragPhase(event) {
  const box = $("diagram").getBoundingClientRect();
  const names = legs();
  const at = (event.clientX - box.left - LABEL) / (box.width - LABEL);
  if (event.type === "pointerdown") {
    $("diagram").setPointerCapture(event.pointerId);
    const leg = names[Math.min(names.length - 1, Math.floor(((event.clientY - box.top) / box.height) * names.length))];
    drag = { key: `lift_off.${leg}`, offset: values[`lift_off.${leg}`] - at };
  } else if (drag) setValue(drag.key, Math.round(100 * ((((at + drag.offset) % 1) + 1) % 1)) / 100);
}
/** @type {{key: string, offset: number} | null} */
let drag = null;
$("diagram").onpointerdown = $("diagram").onpointermove = dragPhase;
$("diagram").onpointerup = $("diagram").onpointercancel = () => (drag = null);

// --- answers -----------------------------------------------------------------------------------------

/** @param {any} answer */
function take(answer) {
  if (answer.controls) return opened(answer);
  if (answer.saved || answer.copied) return saved(answer);
  sentAt = NaN;
  refuse(answer.refusal ? inWords(answer.refusal) : "", answer.key ?? "");
  if (answer.frames) show(answer);
  if (changed) ask();
}

/** @param {any} answer */
function opened(answer) {
  const first = !known;
  known = answer;
  $("robot").textContent = known.shape.name;
  const options = Object.keys(known.gaits).map((name) => new Option(name, name));
  $("gait").replaceChildren(...options, Object.assign(new Option(t("lab_own"), ""), { disabled: true }));
  if (first) known.controls.forEach(addRow);
  diagram.shape(known.shape);
  diagram.restyle((name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim());
  if (first) $("reset").click();
  else chooseGait(chosen in known.gaits ? chosen : Object.keys(known.gaits)[0]);
}

/** @param {any} answer */
function saved({ saved, copied, path }) {
  $("saved").textContent = t(copied ? "lab_saved_copy" : "lab_saved", { name: saved ?? copied, path });
  $("saved").dataset.tone = "good";
  chosen = saved ?? chosen;
  connection.send("laboratory", { act: "open" });
}

/**
 * A refusal in the language of the page; in English if that has no text for its kind.
 * @param {{kind: string, text: string, values: Record<string, string>}} said
 */
function inWords({ kind, text, values }) {
  return has(`lab_refused_${kind}`) ? t(`lab_refused_${kind}`, { ...values, leg: values.leg?.replaceAll("_", " ") }) : text;
}

/**
 * @param {string} text
 * @param {string} key
 */
function refuse(text, key) {
  const refused = key.replace(/^legs\.\w+\./, "leg.");
  const row = rows.find(({ control }) => control.key === refused);
  for (const each of rows) for (const input of [each.slider, each.typed]) {
    input.setAttribute("aria-invalid", String(each === row));
    if (each === row) input.setAttribute("aria-describedby", "refusal");
    else input.removeAttribute("aria-describedby");
  }
  const name = row ? row.typed.getAttribute("aria-label") : key;
  const said = text && name ? `${name}: ${text}` : text;
  if ($("refusal").textContent !== said) $("refusal").textContent = said;
  $("refusal").hidden = !text;
}

/** @param {Cycle} planned */
function show(planned) {
  cycle = planned;
  const shape = JSON.stringify(cycle.shape);
  if (shape !== drawnShape) {
    drawnShape = shape;
    projections.shape(cycle.shape);
    build();
  }
  const [vx, vy, wz] = cycle.top;
  const facts = [["lab_cycle", `${cycle.period.toFixed(2)} s`], ["lab_least", `${Math.round(1000 * cycle.margin)} mm`], ["lab_top_forward", `${vx.toFixed(3)} m/s`], ["lab_top_left", `${vy.toFixed(3)} m/s`], ["lab_top_turn", `${wz.toFixed(2)} rad/s`]];
  const boxes = facts.map(([key, value]) => {
    const box = Object.assign(document.createElement("div"), { className: key.startsWith("lab_top") ? "top" : "" });
    box.append(Object.assign(document.createElement("dt"), { textContent: t(key) }), Object.assign(document.createElement("dd"), { textContent: value }));
    return box;
  });
  $("facts").replaceChildren(...boxes);
  $("facts").setAttribute("aria-busy", String(!cycle.final));
  const swings = legs().map((leg, i) => `${short(leg)} ${diagram.phases[i]?.toFixed(2)}`).join(", ");
  $("diagram").setAttribute("aria-label", t("lab_diagram_said", { duty: diagram.duty.toFixed(2), swings }));
  $("margins").setAttribute("aria-label", t("lab_margin_said", { value: Math.round(1000 * cycle.margin) }));
}

// The robot of the 3D view, with the lengths of the legs that were chosen.
function build() {
  if (!urdf || !cycle) return;
  const joints = cycle.shape.legs.flatMap(({ name }) => ["coxa", "femur", "tibia"].map((part) => `${name}_${part}_joint`));
  scene.setUrdf(urdf, joints);
  const ratios = cycle.shape.legs.flatMap((leg, i) => /** @type {const} */ (["coxa", "femur", "tibia"]).map((part) => leg[part] / known.shape.legs[i][part]));
  scene.root = readUrdf(urdf);
  if (scene.root) stretch(scene.root, new Map(joints.map((name, i) => [name, ratios[i]])));
  scene.loadRobot();
}

/**
 * Stretches the links below joints along their x axis.
 * @param {import("./drawing/robot_mesh.js").Link} link
 * @param {Map<string, number>} ratios by name of the joint
 */
function stretch(link, ratios) {
  for (const child of link.children) {
    const ratio = ratios.get(child.name) ?? 1;
    for (const { at } of child.link.visuals) for (const k of [0, 4, 8, 12]) at[k] *= ratio;
    for (const { at } of child.link.children) at[12] *= ratio;
    stretch(child.link, ratios);
  }
}

connection.on("welcome", () => {
  connection.send("query", { what: "urdf" });
  connection.send("laboratory", { act: "open" });
});
connection.on("urdf", ({ text }) => {
  urdf = text;
  build();
});
connection.on("laboratory", ({ answer }) => take(JSON.parse(answer)));
connection.on("answer", ({ what, ok, text }) => {
  if (what === "reload_gaits") $("saved").textContent += ` ${ok ? t("lab_offered") : text}`;
});
connection.on("refused", ({ text }) => refuse(text, ""));
connection.addEventListener("change", () => {
  sentAt = NaN;
  document.body.dataset.link = connection.state;
  $("banner").hidden = connection.state === "open";
  $("banner").dataset.tone = connection.state === "connecting" ? "calm" : "bad";
  $("banner-text").textContent = connection.state === "open" ? "" : t(`banner_${connection.state}`);
});

// --- the walk -----------------------------------------------------------------------------------------

/** @param {number} now */
function frame(now) {
  requestAnimationFrame(frame); // first, so that drawing continues after an error below
  const seconds = Math.min(0.1, (now - before) / 1000);
  before = now;
  if (!cycle) return;
  phase = (phase + seconds / cycle.period) % 1;
  const [vx, vy, wz] = cycle.twist;
  const heading = odom[2] + (wz * seconds) / 2;
  odom = [odom[0] + seconds * (vx * Math.cos(heading) - vy * Math.sin(heading)), odom[1] + seconds * (vx * Math.sin(heading) + vy * Math.cos(heading)), odom[2] + wz * seconds];
  const at = phase * cycle.frames.length;
  const [a, b] = [Math.floor(at), Math.floor(at) + 1].map((i) => cycle?.frames[i % cycle.frames.length]);
  if (!a || !b) return;
  const state = { ...interpolate(a, b, at % 1), planted: a.planted, margin: a.margin, odom, commanded: cycle.twist };
  projections.update(/** @type {RobotState} */ (state));
  path.update(state, projections.pose);
  scene.update(state, projections.pose);
  projections.draw(now);
  scene.draw(now);
  diagram.draw((cycle.gait.lift_off[0] + phase) % 1);
  drawMargins(cycle);
}

/** @param {Cycle} drawn */
function drawMargins({ frames, gait }) {
  const canvas = $("margins");
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  if (!width || !height) return;
  const ratio = Math.min(devicePixelRatio || 1, 2);
  const size = [width, height].map((value) => Math.round(value * ratio));
  if (canvas.width !== size[0] || canvas.height !== size[1]) [canvas.width, canvas.height] = size;
  const c = canvas.getContext("2d");
  c.setTransform(ratio, 0, 0, ratio, 0, 0);
  c.clearRect(0, 0, width, height);
  const margins = frames.map((each) => 1000 * (each.margin ?? 0));
  const [low, high] = [Math.min(0, ...margins), Math.max(20, ...margins)];
  const y = (/** @type {number} */ value) => height - 4 - ((height - 12) * (value - low)) / (high - low);
  const x = (/** @type {number} */ share) => LABEL + (width - LABEL) * share;
  const { colors } = projections;
  c.font = "11px system-ui, sans-serif";
  c.textBaseline = "middle";
  c.fillStyle = colors.muted;
  for (const value of [0, high]) c.fillText(`${Math.round(value)}`, 0, y(value));
  c.fillStyle = colors.bad;
  c.fillRect(LABEL, y(0), width - LABEL, 1);
  c.fillStyle = Math.min(...margins) > 0 ? colors.support : colors.bad;
  margins.forEach((value, i) => c.fillRect(x((gait.lift_off[0] + i / margins.length) % 1), Math.min(y(value), y(0)), (width - LABEL) / margins.length + 0.5, Math.abs(y(value) - y(0))));
  c.fillStyle = colors.text;
  c.fillRect(x((gait.lift_off[0] + phase) % 1), 0, 1.5, height);
}

connection.open();
requestAnimationFrame(frame);
Object.assign(globalThis, { lab: { connection, scene, projections, get busy() { return changed || waits(); }, get cycle() { return cycle; }, get values() { return values; }, get odom() { return odom; } } });
