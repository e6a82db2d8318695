// SPDX-License-Identifier: Apache-2.0
// Health: battery, bus, torque, temperature and load of every servo, and the status of every node.

import { said, t } from "../texts/texts.js";
import { hottest, short } from "./presentation.js";

const WARM = [45, 60]; // [°C] from which a servo is shown as warm and as hot
const JOINTS = ["coxa", "femur", "tibia"];

export class HealthPanel {
  /** @type {string[]} */
  legs = [];

  /**
   * @param {Document} root
   * @param {import("../connection.js").Connection} connection
   */
  constructor(root, connection) {
    this.weeks = /** @type {HTMLElement} */ (root.getElementById("weeks-list"));
    const box = /** @type {HTMLDetailsElement} */ (root.getElementById("weeks"));
    box.ontoggle = () => box.open && connection.send("query", { what: "weeks" });
    const [version, note] = ["version", "updates-note"].map((id) => /** @type {HTMLElement} */ (root.getElementById(id)));
    /** @type {HTMLElement} */ (root.getElementById("updates")).onclick = () => connection.send("query", { what: "updates" }) && (note.textContent = t("updates_looking"));
    connection.on("updates", ({ text, values }) => (note.textContent = t(text, values)));
    connection.on("welcome", (detail) => (version.textContent = t("version", { version: detail.version })));
    connection.on("weeks", (detail) => this.showWeeks(detail.list));
    this.list = /** @type {HTMLElement} */ (root.getElementById("health-list"));
    this.servos = /** @type {HTMLElement} */ (root.getElementById("servos"));
    this.nodes = /** @type {HTMLElement} */ (root.getElementById("diagnostics"));
    this.restart = /** @type {HTMLSelectElement} */ (root.getElementById("restart-node"));
    this.restartRow = /** @type {HTMLElement} */ (root.getElementById("restart-row"));
  }

  /** @param {Shape} shape */
  shape(shape) {
    this.legs = shape.legs.map((leg) => leg.name);
  }

  /**
   * @param {any} status
   * @param {number | null} roundTrip
   */
  status(status, roundTrip) {
    const hot = hottest(status.temperatures);
    const rows = [
      ["torque", status.torque === null ? "" : t(status.torque ? "on" : "off")],
      ["battery", status.battery ? `${status.battery.volts.toFixed(1)} V` : ""],
      ["battery_warn", status.battery_limits ? `${status.battery_limits[0].toFixed(1)} V` : ""],
      ["battery_sit", status.battery_limits ? `${status.battery_limits[1].toFixed(1)} V` : ""],
      ["hottest_servo", hot ? `${short(hot[0])} ${Math.round(hot[1])} °C` : ""],
      ["bus", counters(status.bus)],
      ...used(status.usage),
      ["round_trip", roundTrip === null ? "" : `${Math.round(roundTrip)} ms`],
    ];
    this.list.replaceChildren(...rows.filter(([, value]) => value).flatMap(([name, value]) => [element("dt", t(name)), element("dd", value)]));
    this.nodes.replaceChildren(...status.diagnostics.map(node));
    this.showServos(status);
    this.restartRow.hidden = !status.restartable.length;
    if (String([...this.restart.options].map((option) => option.value)) !== String(status.restartable)) this.restart.replaceChildren(...status.restartable.map((/** @type {string} */ name) => new Option(name, name)));
  }

  /**
   * The colours of the joints of each leg by their temperature, while this panel is open; null for those that are unknown.
   * @param {any} status
   * @returns {(string[] | null)[]}
   */
  heat({ temperatures }) {
    if (!this.servos.offsetParent) return [];
    return this.legs.map((leg) => {
      const degrees = JOINTS.map((joint) => temperatures[`${leg}_${joint}_joint`]);
      return degrees.includes(undefined) ? null : degrees.map(tone);
    });
  }

  /**
   * Usage and health by weeks, the newest first; then the cycles of every servo in all of them.
   * @param {any[]} weeks
   */
  showWeeks(weeks) {
    if (!weeks.length) return this.weeks.replaceChildren(element("p", t("no_weeks")));
    /** @type {Record<string, number>} */
    const cycles = {};
    const table = element("table");
    table.append(element("caption", t("weeks")));
    table.createTHead().insertRow().append(...["week", "week_hours", "week_way", "hottest_servo", "week_faults"].map((key) => scoped(t(key), "col")));
    const body = table.createTBody();
    for (const { week, on, walking, distance, hottest: degrees, faults, cycles: counted } of weeks) {
      const hot = hottest(degrees);
      const row = body.insertRow();
      row.append(scoped(week.replace("-W", "/"), "row"), element("td", `${on.toFixed(1)} / ${walking.toFixed(1)}`), element("td", `${Math.round(distance)} m`), element("td", hot ? `${short(hot[0])} ${Math.round(hot[1])}°` : "–"), element("td", String(total(faults))));
      for (const [joint, count] of Object.entries(counted)) cycles[joint] = (cycles[joint] ?? 0) + Number(count);
    }
    const list = element("ul");
    for (const { week, faults } of weeks) for (const [text, count] of Object.entries(faults)) list.append(element("li", `${week.replace("-W", "/")}: ${count} × ${text}`));
    this.weeks.replaceChildren(table, list, this.byJoint(t("cycles_of_servos"), (joint) => element("td", joint in cycles ? String(Math.round(cycles[joint])) : "–")));
  }

  /**
   * A table of the joints of every leg.
   * @param {string} title
   * @param {(joint: string) => HTMLElement} cellOf
   */
  byJoint(title, cellOf) {
    const table = element("table");
    table.append(element("caption", title));
    const head = table.createTHead().insertRow();
    head.append(element("td"), ...JOINTS.map((joint) => scoped(joint, "col")));
    const body = table.createTBody();
    for (const leg of this.legs) {
      const row = body.insertRow();
      row.append(scoped(short(leg), "row"), ...JOINTS.map((joint) => cellOf(`${leg}_${joint}_joint`)));
    }
    return table;
  }

  /**
   * One cell per servo: its temperature, with the load as a bar.
   * @param {any} status
   */
  showServos({ temperatures, loads }) {
    const known = this.legs.length && Object.keys(temperatures).length;
    this.servos.hidden = !known;
    if (!known) return;
    this.servos.replaceChildren(this.byJoint(t("servos"), (joint) => cell(temperatures[joint], loads[joint])));
  }
}

/**
 * What the robot has done so far, as odometry counts it.
 * @param {Record<string, string>} usage
 */
function used(usage) {
  const [on, walking, distance, cycles] = ["hours on", "hours walking", "distance [m]", "most cycles"].map((key) => usage[key]);
  const [count, joint] = (cycles ?? "").split(" ");
  return [
    ["usage_time", on && t("usage_hours", { on, walking })],
    ["usage_distance", distance && `${(Number(distance) / 1000).toFixed(2)} km`],
    ["usage_cycles", joint && `${count} · ${short(joint)}`],
  ];
}

/** @param {Record<string, number>} counts */
const total = (counts) => Object.values(counts).reduce((sum, count) => sum + count, 0);

/** @param {number} degrees */
const tone = (degrees) => (degrees >= WARM[1] ? "bad" : degrees >= WARM[0] ? "warn" : "good");

/**
 * @param {number | undefined} degrees
 * @param {number | undefined} load
 */
function cell(degrees, load) {
  const found = element("td", degrees === undefined ? "–" : `${Math.round(degrees)}°`);
  if (degrees !== undefined) found.dataset.tone = tone(degrees);
  if (load !== undefined) {
    const bar = element("i");
    bar.style.width = `${Math.min(100, 100 * Math.abs(load))}%`;
    found.append(bar);
  }
  return found;
}

/** @param {any} status */
function node({ name, level, text, age }) {
  const item = element("li");
  item.dataset.level = level;
  item.append(element("b", name), element("span", level === 3 ? t("stale_for", { age }) : said(text)));
  return item;
}

/**
 * @param {string} text
 * @param {string} scope
 */
function scoped(text, scope) {
  const found = element("th", text);
  found.scope = scope;
  return found;
}

/**
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} kind
 * @param {string} [text]
 */
function element(kind, text = "") {
  const found = document.createElement(kind);
  found.textContent = text;
  return found;
}

/**
 * The counters of the bus, which it reports in this order, in the language of the page.
 * @param {string | undefined} text
 */
function counters(text) {
  const [bad, lost, sent] = text?.match(/\d+/g) ?? [];
  return sent === undefined ? text : t("bus_counters", { bad, lost, sent });
}
