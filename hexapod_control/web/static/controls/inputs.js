// SPDX-License-Identifier: Apache-2.0
// Inputs of the page: dragging on views, virtual sticks (multi-touch), keys, gamepads.

import { shape } from "./feel.js";

// Buttons of a gamepad in the standard mapping of browsers, with the functions and steps of core/steering/gamepad_map.py and
// gamepad_teleop.py.
const BUTTON = {
  enable: 4, enableTurbo: 5, stop: 1, walk: 0, pose: 3, stand: 9, resetPose: 8, raise: 12, lower: 13, previousGait: 14, nextGait: 15,
  motion: 2, liftLess: 6, liftMore: 7,
};
const PULLED = 0.5; // a trigger above this value counts as pulled
const HEIGHT_STEP = 0.005; // [m] of the body
const LIFT_SHARE_STEP = 0.1; // of the step height
const NORMAL_SHARE = 0.5; // of the maximum speed without turbo
const SWIPE = { time: 300, way: 60 }; // [ms] at most, [px] at least
/** @type {Record<string, [number, number, number]>} */
const KEYS = {
  u: [1, 0, 1], i: [1, 0, 0], o: [1, 0, -1], j: [0, 0, 1], l: [0, 0, -1], m: [-1, 0, -1], ",": [-1, 0, 0], ".": [-1, 0, 1],
};
/** @type {Record<string, [number, number, number]>} */
const STRAFE = {
  u: [1, 1, 0], i: [1, 0, 0], o: [1, -1, 0], j: [0, 1, 0], l: [0, -1, 0], m: [-1, 1, 0], ",": [-1, 0, 0], ".": [-1, -1, 0],
};
// W, A, S, D and the arrow keys walk and turn, too.
for (const [key, same] of Object.entries({ w: "i", a: "j", s: ",", d: "l", arrowup: "i", arrowleft: "j", arrowdown: ",", arrowright: "l" })) {
  KEYS[key] = KEYS[same];
  STRAFE[key] = STRAFE[same];
}
const OWN_KEYS = "select, input, dialog, .stick, #space-canvas, [role=application]"; // elements that use the arrow keys
/** @type {Record<string, string>} */
const CODES = { KeyU: "u", KeyI: "i", KeyO: "o", KeyJ: "j", KeyL: "l", KeyM: "m", Comma: ",", Period: "." };

/**
 * Dragging on the top view steers; with Shift it strafes. Releasing or leaving the view commands zero.
 * @param {HTMLElement} canvas
 * @param {import("../drawing/projections.js").Projections} projections
 * @param {import("./velocity.js").VelocityInput} velocity
 */
export function steerByDragging(canvas, projections, velocity) {
  /** @type {number | null} */
  let pointer = null;
  let timer = 0; // a quick stroke of a finger is a swipe, so a finger steers only after that time
  const end = () => {
    clearTimeout(timer);
    if (pointer === null) return;
    pointer = null;
    projections.drag.top = null;
    projections.stale = true;
    velocity.release("view");
  };
  const move = (/** @type {PointerEvent} */ event) => {
    if (event.pointerId !== pointer) return;
    const box = canvas.getBoundingClientRect();
    if (!inside(event, box)) return end();
    const half = 0.42 * Math.min(box.width, box.height);
    const right = shape(clamp((event.clientX - box.left - box.width / 2) / half));
    const up = shape(clamp(-(event.clientY - box.top - box.height / 2) / half));
    projections.drag.top = [event.clientX - box.left, event.clientY - box.top];
    projections.stale = true;
    if (event.shiftKey) velocity.set("view", up, -right, 0);
    else velocity.set("view", up, 0, -right);
  };
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button || pointer !== null) return;
    pointer = event.pointerId;
    let last = event;
    let waits = event.pointerType === "touch";
    const follow = (/** @type {PointerEvent} */ next) => (waits ? (last = next) : move(next));
    canvas.onpointermove = follow;
    if (!waits) return move(event);
    timer = setTimeout(() => ((waits = false), move(last)), SWIPE.time);
  });
  listen(canvas, () => {}, end);
  return end;
}

/**
 * Dragging on the front view sets the body height; leaving the view restores it.
 * @param {HTMLElement} canvas
 * @param {import("../drawing/projections.js").Projections} projections
 * @param {import("./body_pose.js").BodyPose} body
 */
export function setHeightByDragging(canvas, projections, body) {
  /** @type {number | null} */
  let pointer = null;
  let start = 0;
  const end = () => {
    if (pointer === null && body.dragHeight === 0) return;
    pointer = null;
    projections.drag.front = null;
    projections.stale = true;
    body.dragTo(0);
  };
  const move = (/** @type {PointerEvent} */ event) => {
    if (event.pointerId !== pointer || !event.buttons) return;
    const box = canvas.getBoundingClientRect();
    if (!inside(event, box)) return end();
    projections.drag.front = [0, event.clientY - box.top];
    body.dragTo((start - event.clientY) / projections.scale.front);
  };
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    pointer = event.pointerId;
    start = event.clientY + body.dragHeight * projections.scale.front;
    move(event);
  });
  canvas.addEventListener("pointermove", move);
  canvas.addEventListener("pointerleave", end);
  canvas.addEventListener("pointercancel", end);
  canvas.addEventListener("pointerup", () => {
    projections.drag.front = null;
    projections.stale = true;
  });
  return end;
}

/**
 * @param {HTMLElement} element
 * @param {(event: PointerEvent) => void} move
 * @param {() => void} end
 */
function listen(element, move, end) {
  element.addEventListener("pointermove", move);
  for (const name of /** @type {const} */ (["pointerup", "pointercancel", "pointerleave"])) element.addEventListener(name, end);
}

/**
 * A virtual stick: calls `moved(right, up)` with values in [-1, 1], and `ended()` when it is released. Arrow keys move it
 * while it has the focus.
 * @param {HTMLElement} element
 * @param {(right: number, up: number) => void} moved
 * @param {() => void} ended
 */
export function virtualStick(element, moved, ended) {
  const knob = /** @type {HTMLElement} */ (element.querySelector(".knob"));
  const arrows = new Set();
  /** @type {number | null} */
  let pointer = null;
  const show = (/** @type {number} */ right, /** @type {number} */ up) => {
    const reach = element.clientWidth * 0.28;
    knob.style.transform = `translate(${right * reach}px, ${-up * reach}px)`;
  };
  const end = () => {
    if (pointer === null && !arrows.size && element.dataset.active === undefined) return;
    pointer = null;
    arrows.clear();
    delete element.dataset.active;
    show(0, 0);
    ended();
  };
  const deflect = (/** @type {number} */ right, /** @type {number} */ up) => {
    element.dataset.active = "";
    show(right, up);
    moved(shape(right), shape(up));
  };
  const move = (/** @type {PointerEvent} */ event) => {
    if (event.pointerId !== pointer) return;
    const box = element.getBoundingClientRect();
    const right = (event.clientX - box.left - box.width / 2) / (box.width * 0.36);
    const up = -(event.clientY - box.top - box.height / 2) / (box.height * 0.36);
    const length = Math.max(1, Math.hypot(right, up));
    deflect(right / length, up / length);
  };
  element.addEventListener("pointerdown", (event) => {
    if (event.button || pointer !== null) return;
    pointer = event.pointerId;
    element.setPointerCapture(event.pointerId);
    move(event);
  });
  element.addEventListener("pointermove", move);
  for (const name of /** @type {const} */ (["pointerup", "pointercancel", "lostpointercapture"]))
    element.addEventListener(name, (event) => event.pointerId === pointer && end());
  element.addEventListener("contextmenu", (event) => event.preventDefault());
  const update = () => {
    if (!arrows.size) return end();
    deflect(Number(arrows.has("ArrowRight")) - Number(arrows.has("ArrowLeft")), Number(arrows.has("ArrowUp")) - Number(arrows.has("ArrowDown")));
  };
  element.addEventListener("keydown", (event) => {
    if (!event.key.startsWith("Arrow")) return;
    event.preventDefault();
    arrows.add(event.key);
    update();
  });
  element.addEventListener("keyup", (event) => arrows.delete(event.key) && update());
  element.addEventListener("blur", () => arrows.size && end());
  return end;
}

/**
 * A quick sideways stroke of one finger calls `swiped` with 1 (to the left) or -1; a slow one turns the 3D view or steers.
 * @param {HTMLElement} element
 * @param {(step: number) => void} swiped
 */
export function swipeAcross(element, swiped) {
  /** @type {{x: number, y: number, at: number} | null} */
  let start = null;
  const fingers = new Set();
  element.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "mouse" || target(event).closest("input, .seen, #map")) return;
    fingers.add(event.pointerId);
    start = fingers.size === 1 ? { x: event.clientX, y: event.clientY, at: event.timeStamp } : null;
  });
  for (const name of /** @type {const} */ (["pointerup", "pointercancel"]))
    element.addEventListener(name, (event) => {
      fingers.delete(event.pointerId);
      const from = start;
      start = null;
      if (!from || name === "pointercancel") return;
      const [dx, dy] = [event.clientX - from.x, event.clientY - from.y];
      if (event.timeStamp - from.at < SWIPE.time && Math.abs(dx) > SWIPE.way && Math.abs(dx) > 2 * Math.abs(dy)) swiped(dx < 0 ? 1 : -1);
    });
}

/**
 * Handles keys that drive while they are held, and keys that act once (`actions` by key).
 * @param {import("./velocity.js").VelocityInput} velocity
 * @param {Record<string, (value?: any) => void>} actions
 */
export function listenToKeys(velocity, actions) {
  const held = new Set();
  const steer = (/** @type {boolean} */ shift) => {
    const newest = [...held].at(-1);
    if (newest === undefined) velocity.release("keys");
    else velocity.set("keys", ...(shift ? STRAFE : KEYS)[newest]);
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || document.querySelector("dialog[open]")) return;
    if (event.code === "Space" && !target(event).matches("input[type=text]")) {
      event.preventDefault(); // otherwise it would press the focused button
      if (!event.repeat) actions[event.shiftKey ? "estop" : "stop"]();
      return;
    }
    if (target(event).matches("select, input:not([type=range])")) return;
    const key = CODES[event.code] ?? event.key.toLowerCase();
    if (key.startsWith("arrow") && target(event).matches(OWN_KEYS)) return;
    if (KEYS[key]) {
      event.preventDefault();
      if (!event.repeat) held.delete(key);
      if (!event.repeat) held.add(key);
      steer(event.shiftKey);
    } else if (actions[key] && !(event.repeat && !"rfqz".includes(key))) {
      actions[key]();
    } else if (/^[1-9]$/.test(key) && !event.repeat) {
      actions.gait(Number(key) - 1);
    }
  });
  addEventListener("keyup", (event) => {
    if (event.code === "Space" && target(event).matches("button")) event.preventDefault();
    if (event.key === "Shift" && held.size) steer(false);
    if (held.delete(CODES[event.code] ?? event.key.toLowerCase())) steer(event.shiftKey);
  });
  return () => {
    held.clear();
    velocity.release("keys");
  };
}

// Which axes of a gamepad count: those that rest at their center, by the rules of core/steering/gamepad_teleop.py.
const CENTER = 0.1; // deflection that counts as centered: zero
const CENTER_TIME = 300; // [ms] at the center, while the dead-man is held
const REST_TIME = 2000; // [ms] away from the center without dead-man

export class AxisCenters {
  constructor() {
    /** @type {{found: number, centered: boolean, since: number, counts: boolean}[]} */
    this.axes = [];
  }

  /**
   * Returns the deflection of each axis; null for one that is deflected without counting.
   * @param {readonly number[]} values
   * @param {number} now
   * @param {boolean} held
   */
  see(values, now, held) {
    return values.map((value, number) => {
      const centered = Math.abs(value) <= CENTER;
      const axis = (this.axes[number] ??= { found: value, centered, since: -Infinity, counts: false });
      if (centered !== axis.centered) Object.assign(axis, { centered, since: now });
      if (centered && (!held || now - axis.since >= CENTER_TIME)) axis.counts = true;
      else if (!centered && !held && (Math.abs(value - axis.found) <= CENTER || now - axis.since >= REST_TIME)) axis.counts = false;
      if (centered) return 0;
      return axis.counts ? (Math.sign(value) * (Math.abs(value) - CENTER)) / (1 - CENTER) : null;
    });
  }
}

// Gamepads through the Gamepad API of the browser, with the standard mapping and the same functions as the node teleop.
export class Gamepads {
  /**
   * @param {import("./velocity.js").VelocityInput} velocity
   * @param {import("./body_pose.js").BodyPose} body
   * @param {Record<string, (value?: any, more?: any) => void>} actions
   */
  constructor(velocity, body, actions) {
    this.velocity = velocity;
    this.body = body;
    this.actions = actions;
    this.mode = "walk";
    /** @type {boolean[]} */
    this.lastPressed = [];
    this.ready = false; // true once the dead-man switch was released after the start or a stop
    this.name = "";
    this.posing = false;
    this.centers = new AxisCenters();
    /** @type {Gamepad | null | undefined} */
    this.pad = null; // as the browser has read it last
    addEventListener("gamepaddisconnected", () => this.lost());
  }

  get held() {
    return Boolean(this.lastPressed[BUTTON.enable]);
  }

  lost() {
    if (!this.name) return;
    this.name = "";
    this.lastPressed = [];
    this.ready = false;
    this.centers = new AxisCenters();
    this.velocity.release("pad");
    this.actions.stop("pad_lost");
  }

  poll() {
    const pad = [...(navigator.getGamepads?.() ?? [])].find((p) => p?.connected && p.buttons.length > BUTTON.stand);
    this.pad = pad;
    if (!pad || (this.name && pad.id !== this.name)) return this.lost();
    if (!this.name) {
      this.name = pad.id;
      this.actions.tell("pad_found");
    }
    const held = pad.buttons.map((button) => button.pressed || button.value > PULLED);
    const pressed = held.map((value, i) => value && !this.lastPressed[i] && this.lastPressed.length > 0);
    this.lastPressed = held;
    const deflections = this.centers.see(pad.axes, performance.now(), held[BUTTON.enable]);
    if (pressed[BUTTON.stop]) {
      this.ready = false;
      this.actions.stop();
    }
    if (!held[BUTTON.enable]) this.ready = true;
    if (!held[BUTTON.enable] || !this.ready) return this.velocity.release("pad");
    this.press(pressed);
    const ignored = deflections.slice(0, this.mode === "walk" ? 3 : 4).indexOf(null);
    if (pressed[BUTTON.enable] && ignored >= 0) this.actions.tell("pad_axis", { axis: ignored });
    this.sticks([0, 1, 2, 3].map((number) => shape(deflections[number] ?? 0, CENTER)), held[BUTTON.enableTurbo]);
  }

  /** @param {boolean[]} pressed */
  press(pressed) {
    const { actions, body } = this;
    if (pressed[BUTTON.walk] || pressed[BUTTON.pose]) {
      this.mode = pressed[BUTTON.walk] ? "walk" : "pose";
      actions.tell(`pad_mode_${this.mode}`);
    }
    if (pressed[BUTTON.resetPose]) body.neutral();
    if (pressed[BUTTON.stand]) actions.standOrSit();
    if (pressed[BUTTON.motion]) actions.dance();
    const step = (/** @type {number} */ less, /** @type {number} */ more) => (pressed[more] ? 1 : pressed[less] ? -1 : 0);
    const [height, gait, lift] = [step(BUTTON.lower, BUTTON.raise), step(BUTTON.previousGait, BUTTON.nextGait), step(BUTTON.liftLess, BUTTON.liftMore)];
    if (height) body.set({ z: body.target.z + height * HEIGHT_STEP });
    if (gait) actions.nextGait(gait);
    if (lift) actions.lift(lift * LIFT_SHARE_STEP);
  }

  /**
   * @param {number[]} axes
   * @param {boolean} turbo
   */
  sticks([lx, ly, rx, ry], turbo) {
    if (this.mode === "walk") {
      const share = turbo ? 1 : NORMAL_SHARE;
      if (lx || ly || rx) this.velocity.set("pad", -ly * share, -lx * share, -rx * share, true);
      else this.velocity.release("pad");
      return;
    }
    this.velocity.release("pad");
    const { limits } = this.body;
    /** @type {Partial<import("./body_pose.js").Pose>} */
    const pose = { x: -ly * limits.x, y: -lx * limits.y, pitch: -ry * limits.pitch };
    if (turbo) pose.roll = rx * limits.roll;
    else pose.yaw = -rx * limits.yaw;
    if ([lx, ly, rx, ry].some(Boolean) || this.posing) this.body.set(pose);
    this.posing = [lx, ly, rx, ry].some(Boolean);
  }
}

/** @param {Event} event */
function target(event) {
  return /** @type {Element} */ (event.target);
}

/** @param {number} value */
function clamp(value) {
  return Math.max(-1, Math.min(1, value));
}

/**
 * @param {PointerEvent} event
 * @param {DOMRect} box
 */
function inside(event, box) {
  return event.clientX >= box.left && event.clientX < box.right && event.clientY >= box.top && event.clientY < box.bottom;
}
