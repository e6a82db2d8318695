// SPDX-License-Identifier: Apache-2.0
// Settings: step height, lost legs, the simulated world, invitations, theme, language, full screen, wake lock.

import { all, LANGUAGES, load, save, t, useLanguage } from "../texts/texts.js";
import { SPANS } from "../plots/charts.js";

export const KEYS_HELP = [
  [
    ["W A S D", "key_walk"], ["U I O J L M , .", "key_walk_more"], ["↑ ← ↓ →", "key_walk"], ["Shift", "key_shift"], ["Q Z", "key_speed"], ["R F", "key_height"],
    ["T G", "key_posture"], ["Space", "key_stop"], ["V P", "key_more"], ["?", "key_help"],
  ],
  [
    ["L1", "pad_dead_man"], ["R1", "pad_turbo"], ["L", "pad_left"], ["R", "pad_right"], ["A Y", "pad_modes"], ["B", "pad_stop"],
    ["Start Back", "pad_posture"], ["D-pad", "pad_cross"], ["LT RT", "pad_steps"], ["X", "pad_motion"],
  ],
];
/** @type {Record<string, (value: any) => string>} */
const TEXTS = { lift: (v) => `${v} %`, friction: (v) => Number(v).toFixed(1), payload: (v) => `${Number(v)} kg`, force: (v) => `${v} N` };

export class Settings {
  onTheme = () => {};
  hint = (/** @type {string} */ _) => {};

  /**
   * @param {Document} root
   * @param {{connection: import("../connection.js").Connection, projections: import("../drawing/projections.js").Projections, robot: Robot, charts: import("../plots/charts.js").Charts, language: string}} parts
   */
  constructor(root, { connection, projections, robot, charts, language }) {
    this.connection = connection;
    this.projections = projections;
    this.robot = robot;
    this.charts = charts;
    /** @type {(id: string) => any} */
    const find = (this.find = (id) => root.getElementById(id));
    this.sliders(root);
    find("leg").onchange = () => this.leg();
    find("lose-leg").onclick = () => {
      const leg = find("leg").value;
      if (connection.send("leg", { name: leg, lost: !this.lost })) this.hint(t(this.lost ? "leg_returns" : "leg_folds", { leg }));
    };
    for (const id of ["world", "reality"]) find(id).onchange = () => connection.send("world", { [id]: find(id).value });
    find("share").onclick = find("share-too").onclick = () => connection.send("query", { what: "invite" });
    find("theme").onclick = find("theme-too").onclick = () => this.setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
    for (const button of all(".push", root)) button.onclick = () => this.push(Number(button.dataset.push));
    this.dark = matchMedia("(prefers-color-scheme: dark)");
    this.dark.addEventListener("change", () => this.setTheme());
    find("language").replaceChildren(...Object.entries(LANGUAGES).map(([name, text]) => new Option(text, name, false, name === language)));
    find("language").onchange = () => useLanguage(find("language").value).then(() => location.reload());
    this.screen(root);
    this.plots();
  }

  /**
   * A slider shows its value while it moves; its effect follows 100 ms after the last change.
   * @param {Document} root
   */
  sliders(root) {
    /** @type {Record<string, (value: number) => void>} */
    const effects = { lift: (v) => this.connection.send("lift", { share: v / 100 }), friction: (v) => this.connection.send("world", { friction: v }), payload: (v) => this.connection.send("world", { payload: v }), force: () => {} };
    for (const [id, effect] of Object.entries(effects)) {
      let timer = 0;
      this.find(id).addEventListener("input", () => {
        const value = Number(this.find(id).value);
        /** @type {HTMLElement} */ (root.querySelector(`output[for="${id}"]`)).textContent = TEXTS[id](value);
        clearTimeout(timer);
        timer = setTimeout(() => effect(value), 100);
      });
    }
  }

  /** @param {Document} root */
  screen(root) {
    this.find("full").hidden = !root.fullscreenEnabled;
    this.find("full").onclick = () => (root.fullscreenElement ? root.exitFullscreen() : root.documentElement.requestFullscreen());
    this.find("sleep-note").hidden = "wakeLock" in navigator;
    const sleeps = () => {
      if (!("wakeLock" in navigator) && matchMedia("(pointer: coarse)").matches && !load("sleep")) this.hint(t("sleep_note"));
      save("sleep", "said"); // once on a device
    };
    root.addEventListener("pointerup", sleeps, { once: true });
    const keepAwake = () => !root.hidden && navigator.wakeLock?.request("screen").catch(() => (this.find("sleep-note").hidden = false));
    root.addEventListener("visibilitychange", keepAwake);
    root.addEventListener("pointerdown", keepAwake, { once: true });
  }

  plots() {
    const { charts } = this;
    const [pause, csv] = [this.find("pause"), this.find("csv")];
    pause.onclick = () => {
      charts.pause(charts.pausedAt === null);
      pause.setAttribute("aria-pressed", String(charts.pausedAt !== null));
    };
    csv.onclick = () => {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([charts.csv()], { type: "text/csv" }));
      link.download = `${this.robot.shape?.name ?? "robot"}.csv`;
      link.click();
      URL.revokeObjectURL(link.href);
    };
    for (const seconds of SPANS) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = `${seconds} s`;
      button.setAttribute("aria-pressed", String(seconds === charts.span));
      button.onclick = () => {
        charts.span = seconds;
        for (const each of csv.parentElement.querySelectorAll("[data-span]")) each.setAttribute("aria-pressed", String(each === button));
      };
      button.dataset.span = String(seconds);
      csv.before(button);
    }
  }

  /** @param {any} message */
  welcome({ worlds, realities, shape }) {
    for (const [id, names] of Object.entries({ world: worlds, reality: realities })) this.find(id).replaceChildren(...names.map((/** @type {string} */ name) => new Option(name, name)));
    this.find("leg").replaceChildren(...shape.legs.map((/** @type {LegShape} */ leg) => new Option(leg.name.replaceAll("_", " "), leg.name)));
  }

  /** @param {any} status */
  status({ gaits, selected_gait, world, lift }) {
    const list = this.find("gait");
    if (String([...list.options].map((option) => option.value)) !== String(gaits)) list.replaceChildren(...gaits.map((/** @type {string} */ name) => new Option(name, name)));
    if (document.activeElement !== list) list.value = selected_gait;
    this.leg();
    const values = { ...world, ...(lift === null ? {} : { lift: Math.round(100 * lift) }) };
    for (const [id, value] of Object.entries(values)) {
      if (document.activeElement === this.find(id)) continue;
      this.find(id).value = value;
      const output = document.querySelector(`output[for="${id}"]`);
      if (output) output.textContent = TEXTS[id](value);
    }
  }

  get lost() {
    return this.robot.status?.lost_legs.includes(this.find("leg").value) ?? false;
  }

  leg() {
    this.find("lose-leg").textContent = t(this.lost ? "leg_return" : "leg_lost");
  }

  /** @param {number} step */
  lift(step) {
    this.find("lift").value = Number(this.find("lift").value) + 100 * step;
    this.find("lift").dispatchEvent(new Event("input"));
  }

  /** @param {number} degrees */
  push(degrees) {
    const angle = (degrees * Math.PI) / 180 + (this.projections.pose?.odom[2] ?? 0);
    const force = Number(this.find("force").value);
    this.connection.send("push", { x: force * Math.cos(angle), y: force * Math.sin(angle) });
  }

  // The chosen theme is remembered; without one the page follows the system.
  setTheme(name = "") {
    if (name) save("theme", name);
    document.documentElement.dataset.theme = name || load("theme") || (this.dark.matches ? "dark" : "light");
    this.onTheme();
  }

  /** @param {any} invitation */
  invitation({ url, urls = [url], rows, once }) {
    const c = this.find("share-code").getContext("2d");
    const size = Math.floor(240 / (rows.length + 4));
    const margin = Math.floor((240 - size * rows.length) / 2);
    c.fillStyle = "#fff";
    c.fillRect(0, 0, 240, 240);
    c.fillStyle = "#000";
    rows.forEach((/** @type {string} */ row, /** @type {number} */ y) => [...row].forEach((bit, x) => bit === "1" && c.fillRect(margin + x * size, margin + y * size, size, size)));
    const items = urls.map((/** @type {string} */ each) => {
      const item = document.createElement("li");
      item.append(Object.assign(document.createElement("code"), { textContent: each }));
      return item;
    });
    this.find("share-urls").replaceChildren(...items);
    this.find("share-note").textContent = t(once ? "invite_once" : "invite_local");
    this.find("share-box").showModal();
  }
}
