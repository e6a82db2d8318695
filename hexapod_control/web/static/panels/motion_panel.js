// Buttons of the motions, progress of the present motion, and the stability margin.

import { all, t } from "../texts/texts.js";

const FULL_BAR = 120; // [mm] margin that fills the bar
const BAD_MARGIN = 20; // [mm] margin below which the bar is red
const LOW_MARGIN = 40; // [mm] margin below which the bar is yellow
const MAX_GAP = 50; // [mm] between two legs; larger clearances are not measured

export class MotionPanel {
  /** @type {HTMLElement} */
  list;
  /** @type {HTMLElement} */
  playing;
  /** @type {HTMLElement} */
  name;
  /** @type {HTMLProgressElement} */
  bar;
  /** @type {HTMLElement} */
  number;
  /** @type {HTMLElement} */
  gap;

  constructor(root, connection) {
    this.connection = connection;
    const find = (id) => root.getElementById(id);
    [this.list, this.playing, this.name, this.bar] = ["motions", "playing", "playing-name", "playing-bar"].map(find);
    this.margin = find("margin");
    [this.number, this.gap] = ["b", "small"].map((name) => this.margin.querySelector(name));
    this.level = this.margin.querySelector("i");
    find("finish").onclick = () => connection.send("play", { name: "" });
    find("cancel").onclick = () => connection.send("ask", { what: "cancel_motion" });
  }

  // Shows the list of motions and the clearance between the legs; called twice a second.
  status({ motions, leg_gap }) {
    if (motions.join() !== this.listed) {
      this.listed = motions.join();
      this.list.replaceChildren(...motions.map((name) => this.button(name)));
    }
    this.gap.textContent = leg_gap === null ? "" : t("leg_gap", { value: leg_gap < MAX_GAP / 1000 ? Math.round(1000 * leg_gap) : `${MAX_GAP}+` });
  }

  button(name) {
    const button = document.createElement("button");
    button.type = "button";
    button.dataset.motion = name;
    button.dataset.needs = "torque";
    button.textContent = title(name);
    button.onclick = () => this.connection.send("play", { name });
    return button;
  }

  // Shows the progress of the motion; called thirty times a second.
  update({ motion }) {
    const text = motion ? `${title(motion.name)} · ${motion.phase}` : "";
    if (this.name.textContent !== text) this.name.textContent = text;
    if (this.playing.hidden !== !motion) this.playing.hidden = !motion;
    if (motion?.phase === "rehearse") this.bar.removeAttribute("value");
    else if (motion) this.bar.value = motion.percent;
    for (const button of all("button", this.list)) button.toggleAttribute("data-plays", button.dataset.motion === motion?.name);
  }

  // Shows the stability margin [m]; null if it is unknown.
  setMargin(margin) {
    this.showMargin(margin === null ? null : Math.round(1000 * margin));
  }

  showMargin(millimetres) {
    if (millimetres === this.shown) return;
    this.shown = millimetres;
    this.margin.hidden = millimetres === null;
    if (millimetres === null) return;
    this.number.textContent = t("margin", { value: millimetres });
    this.level.style.width = `${Math.max(0, Math.min(100, (100 * millimetres) / FULL_BAR))}%`;
    this.margin.dataset.tone = millimetres < BAD_MARGIN ? "bad" : millimetres < LOW_MARGIN ? "warn" : "good";
    this.margin.setAttribute("aria-valuenow", millimetres);
  }
}

function title(name) {
  const text = name.replaceAll("_", " ");
  return text[0].toUpperCase() + text.slice(1);
}
