// SPDX-License-Identifier: Apache-2.0
// The body pose as full-width sliders with typed values; it shows the pose that the robot has reached.

import { all, t } from "../texts/texts.js";

const DEGREES = 180 / Math.PI;
/** @typedef {keyof import("../controls/body_pose.js").Pose} Name */
/** @type {[Name, string, number][]} */
const ROWS = [["z", "mm", 1000], ["roll", "°", DEGREES], ["pitch", "°", DEGREES], ["yaw", "°", DEGREES], ["x", "mm", 1000], ["y", "mm", 1000]];

export class PosePanel {
  /**
   * @param {HTMLElement} root
   * @param {import("../controls/body_pose.js").BodyPose} body
   */
  constructor(root, body) {
    this.body = body;
    this.rows = ROWS.map(([name, unit, factor]) => this.row(name, unit, factor));
    root.replaceChildren(...this.rows.map((row) => row.box));
    body.listeners.push(() => this.show());
    this.show();
  }

  /**
   * @param {Name} name
   * @param {string} unit
   * @param {number} factor
   */
  row(name, unit, factor) {
    const box = document.createElement("div");
    box.className = "wide-row";
    const most = Math.floor(this.body.limits[name] * factor);
    const label = document.createElement("label");
    label.dataset.t = `pose_${name}`;
    label.htmlFor = `pose-${name}`;
    const typed = input("number", most);
    typed.dataset.label = `pose_${name}`;
    const slider = input("range", most);
    slider.id = `pose-${name}`;
    for (const each of [typed, slider]) each.dataset.needs = "drive";
    slider.oninput = () => {
      typed.value = slider.value;
      this.body.set({ [name]: Number(slider.value) / factor });
    };
    typed.onchange = () => this.body.set({ [name]: Number(typed.value) / factor });
    const value = document.createElement("span");
    value.className = "typed";
    value.append(typed, unit);
    box.append(label, value, slider);
    return { name, factor, box, typed, slider };
  }

  show() {
    for (const { name, factor, typed, slider } of this.rows) {
      const value = String(Math.round(this.body.achieved[name] * factor) + 0);
      for (const each of [typed, slider]) if (document.activeElement !== each || each.dataset.why) each.value = value;
      slider.setAttribute("aria-valuetext", value);
    }
  }
}

/**
 * @param {string} type
 * @param {number} most
 */
function input(type, most) {
  const found = document.createElement("input");
  Object.assign(found, { type, min: -most, max: most, step: 1, value: 0 });
  return found;
}

/** @param {ParentNode} root */
export function poseTexts(root) {
  for (const label of all("label[data-t]", root)) label.textContent = t(label.dataset.t ?? "");
}
