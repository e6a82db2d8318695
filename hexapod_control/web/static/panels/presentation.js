// SPDX-License-Identifier: Apache-2.0
// What the page says about the robot: one sentence, the next step, and why a control has no effect. Pure functions.

/**
 * @typedef {[string, Record<string, any>]} Say key of a text with its values
 * @typedef {{say: string, tone: string, step: string, why: string, locked: string[], values: Record<string, any>}} Condition as robot_condition.py sends it
 * @typedef {{text: Say, tone: string, step: string, stepWhy: Say | null, driveWhy: Say | null, torqueWhy: Say | null, robotWhy: Say | null, seatWhy: Say | null}} Presentation
 */

/** @type {Condition} */
const NOTHING = { say: "nothing", tone: "unknown", step: "", why: "why_unknown", locked: ["drive", "torque", "robot"], values: {} }; // before the first state

/**
 * Combines the state that the robot reports (`now`), the connection and who drives.
 * @param {{link: string, lostFor: number, now: Condition | null, me: number, driver: number, driverName: string, asking: boolean, replayed: boolean}} known
 * @returns {Presentation}
 */
export function present({ link, lostFor, now, me, driver, driverName, asking, replayed }) {
  if (link !== "open") {
    /** @type {Say} */
    const why = ["why_offline", {}];
    return { text: [`link_${link}`, { age: Math.round(lostFor) }], tone: link === "connecting" ? "unknown" : "bad", step: "", stepWhy: why, driveWhy: why, torqueWhy: why, robotWhy: why, seatWhy: why };
  }
  if (!now) now = NOTHING;
  const { locked, why, values } = now;
  /** @type {Say | null} */
  const other = driver && driver !== me ? ["why_driver", { name: driverName }] : null;
  /** @type {Say | null} */
  const replay = replayed ? ["why_replay", {}] : null;
  /** @type {(control: string) => Say | null} */
  const lock = (control) => (locked.includes(control) ? [why, values] : null);
  return {
    text: [now.say, now.values],
    tone: now.tone,
    step: !other || now.step === "estop" ? now.step : asking ? "cancel_request" : "request_control",
    stepWhy: now.step || other ? null : [now.say, values],
    driveWhy: replay ?? other ?? lock("drive"),
    torqueWhy: replay ?? other ?? lock("torque"),
    robotWhy: other ?? lock("robot"),
    seatWhy: other,
  };
}

/**
 * Returns the hottest servo as [joint, degrees], or null.
 * @param {Record<string, number> | undefined} temperatures
 * @returns {[string, number] | null}
 */
export function hottest(temperatures) {
  /** @type {[string, number] | null} */
  const none = null;
  return Object.entries(temperatures ?? {}).reduce((/** @type {[string, number] | null} */ best, each) => (!best || each[1] > best[1] ? each : best), none);
}

/**
 * Returns the tone of a battery with limits [warns, sits], both in volts.
 * @param {{volts: number} | null | undefined} battery
 * @param {number[] | null | undefined} limits
 */
export function supply(battery, limits) {
  if (!battery || !limits) return "";
  return battery.volts <= limits[1] ? "bad" : battery.volts <= limits[0] ? "warn" : "";
}

/** @type {Record<string, string>} */
const LEG_WORDS = { left: "L", right: "R", front: "F", middle: "M", rear: "R" };

/**
 * Abbreviates a leg or joint: left_front_coxa_joint becomes LF coxa.
 * @param {string} name
 */
export function short(name) {
  const words = name.replace(/_joint$/, "").split("_");
  const leg = words.filter((word) => word in LEG_WORDS).map((word) => LEG_WORDS[word]).join("");
  return [leg, ...words.filter((word) => !(word in LEG_WORDS))].filter(Boolean).join(" ");
}
