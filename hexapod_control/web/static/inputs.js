// Hands on the page: dragging on views, virtual sticks (several fingers at once), keys, gamepads.

const DEAD = 0.06; // share of the way about the middle that is rest
const TURBO = 5; // R1
const KEYS = {
  u: [1, 0, 1], i: [1, 0, 0], o: [1, 0, -1], j: [0, 0, 1], l: [0, 0, -1], m: [-1, 0, -1], ",": [-1, 0, 0], ".": [-1, 0, 1],
};
const STRAFE = {
  u: [1, 1, 0], i: [1, 0, 0], o: [1, -1, 0], j: [0, 1, 0], l: [0, -1, 0], m: [-1, 1, 0], ",": [-1, 0, 0], ".": [-1, -1, 0],
};
const CODES = { KeyU: "u", KeyI: "i", KeyO: "o", KeyJ: "j", KeyL: "l", KeyM: "m", Comma: ",", Period: "." };

export function rest(value) {
  return Math.abs(value) < DEAD ? 0 : (Math.sign(value) * (Math.abs(value) - DEAD)) / (1 - DEAD);
}

// Dragging on the top view steers; with Shift it strafes. Outside of the view, or let go: zero.
export function steerView(canvas, views, drive) {
  let pointer = null;
  const end = () => {
    if (pointer === null) return;
    pointer = null;
    views.drag.top = null;
    views.stale = true;
    drive.release("view");
  };
  const move = (event) => {
    if (event.pointerId !== pointer) return;
    const box = canvas.getBoundingClientRect();
    if (!inside(event, box)) return end();
    const half = 0.42 * Math.min(box.width, box.height);
    const right = rest(clip((event.clientX - box.left - box.width / 2) / half));
    const up = rest(clip(-(event.clientY - box.top - box.height / 2) / half));
    views.drag.top = [event.clientX - box.left, event.clientY - box.top];
    views.stale = true;
    if (event.shiftKey) drive.set("view", up, -right, 0);
    else drive.set("view", up, 0, -right);
  };
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button || pointer !== null) return;
    pointer = event.pointerId;
    move(event);
  });
  listen(canvas, move, end);
  return end;
}

// Dragging on the front view lifts and lowers the body; leaving the view takes that back.
export function heightView(canvas, views, body) {
  let pointer = null;
  let start = 0;
  const end = () => {
    if (pointer === null && body.lean === 0) return;
    pointer = null;
    views.drag.front = null;
    views.stale = true;
    body.leanTo(0);
  };
  const move = (event) => {
    if (event.pointerId !== pointer || !event.buttons) return;
    const box = canvas.getBoundingClientRect();
    if (!inside(event, box)) return end();
    views.drag.front = [0, event.clientY - box.top];
    body.leanTo((start - event.clientY) / views.scale.front);
  };
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    pointer = event.pointerId;
    start = event.clientY + body.lean * views.scale.front;
    move(event);
  });
  canvas.addEventListener("pointermove", move);
  canvas.addEventListener("pointerleave", end);
  canvas.addEventListener("pointercancel", end);
  canvas.addEventListener("pointerup", () => {
    views.drag.front = null;
    views.stale = true;
  });
  return end;
}

function listen(element, move, end) {
  element.addEventListener("pointermove", move);
  for (const name of ["pointerup", "pointercancel", "pointerleave"]) element.addEventListener(name, end);
}

// A virtual stick: `moved(right, up)` in [-1, 1], `ended()` when it is let go. Arrow keys when it has the focus.
export function stick(element, moved, ended) {
  const knob = element.querySelector(".knob");
  const arrows = new Set();
  let pointer = null;
  const show = (right, up) => {
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
  const give = (right, up) => {
    element.dataset.active = "";
    show(right, up);
    moved(rest(right), rest(up));
  };
  const move = (event) => {
    if (event.pointerId !== pointer) return;
    const box = element.getBoundingClientRect();
    const right = (event.clientX - box.left - box.width / 2) / (box.width * 0.36);
    const up = -(event.clientY - box.top - box.height / 2) / (box.height * 0.36);
    const length = Math.max(1, Math.hypot(right, up));
    give(right / length, up / length);
  };
  element.addEventListener("pointerdown", (event) => {
    if (event.button || pointer !== null) return;
    pointer = event.pointerId;
    element.setPointerCapture(pointer);
    move(event);
  });
  element.addEventListener("pointermove", move);
  for (const name of ["pointerup", "pointercancel", "lostpointercapture"])
    element.addEventListener(name, (event) => event.pointerId === pointer && end());
  element.addEventListener("contextmenu", (event) => event.preventDefault());
  const turn = () => {
    if (!arrows.size) return end();
    give(arrows.has("ArrowRight") - arrows.has("ArrowLeft"), arrows.has("ArrowUp") - arrows.has("ArrowDown"));
  };
  element.addEventListener("keydown", (event) => {
    if (!event.key.startsWith("Arrow")) return;
    event.preventDefault();
    arrows.add(event.key);
    turn();
  });
  element.addEventListener("keyup", (event) => arrows.delete(event.key) && turn());
  element.addEventListener("blur", () => arrows.size && end());
  return end;
}

// Keys that drive while they are held, and keys that do something once (`acts` by key).
export function keys(drive, acts) {
  const held = new Set();
  const steer = (shift) => {
    const newest = [...held].at(-1);
    if (newest === undefined) drive.release("keys");
    else drive.set("keys", ...(shift ? STRAFE : KEYS)[newest]);
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || document.querySelector("dialog[open]")) return;
    if (event.code === "Space") {
      event.preventDefault(); // never the button that has the focus
      if (!event.repeat) acts[event.shiftKey ? "estop" : "stop"]();
      return;
    }
    if (event.target.matches("select, input:not([type=range])")) return;
    const key = CODES[event.code] ?? event.key.toLowerCase();
    if (KEYS[key]) {
      if (!event.repeat) held.delete(key);
      if (!event.repeat) held.add(key);
      steer(event.shiftKey);
    } else if (acts[key] && !(event.repeat && !"rfqz".includes(key))) {
      acts[key]();
    } else if (/^[1-9]$/.test(key) && !event.repeat) {
      acts.gait(Number(key) - 1);
    }
  });
  addEventListener("keyup", (event) => {
    if (event.code === "Space" && event.target.matches("button")) event.preventDefault();
    if (event.key === "Shift" && held.size) steer(false);
    if (held.delete(CODES[event.code] ?? event.key.toLowerCase())) steer(event.shiftKey);
  });
  return () => {
    held.clear();
    drive.release("keys");
  };
}

// Gamepads by the browser's Gamepad API, standard mapping, with the same map as the node teleop.
export class Gamepads {
  constructor(drive, body, acts) {
    this.drive = drive;
    this.body = body;
    this.acts = acts;
    this.mode = "walk";
    this.before = [];
    this.ready = false; // the dead-man was let go since the start or a stop
    this.name = "";
    addEventListener("gamepaddisconnected", () => this.lost());
  }

  get held() {
    return Boolean(this.before[4]);
  }

  lost() {
    if (!this.name) return;
    this.name = "";
    this.before = [];
    this.ready = false;
    this.drive.release("pad");
    this.acts.stop();
    this.acts.say("Gamepad lost: stopped");
  }

  poll() {
    const pad = [...(navigator.getGamepads?.() ?? [])].find((p) => p?.connected && p.buttons.length >= 10);
    if (!pad) return this.lost();
    if (!this.name) {
      this.name = pad.id;
      this.acts.say("Gamepad found: hold L1 to drive");
    }
    const down = pad.buttons.map((button) => button.pressed || button.value > 0.5);
    const fresh = down.map((value, i) => value && !this.before[i] && this.before.length > 0);
    this.before = down;
    if (fresh[1]) {
      this.ready = false;
      this.acts.stop();
    }
    if (!down[4]) this.ready = true;
    if (!down[4] || !this.ready) return this.drive.release("pad");
    this.press(fresh);
    this.sticks(pad.axes.map(rest), down[TURBO]);
  }

  press(fresh) {
    const { acts, body } = this;
    if (fresh[0] || fresh[3]) {
      this.mode = fresh[0] ? "walk" : "pose";
      acts.say(`Gamepad: ${this.mode} mode`);
    }
    if (fresh[8]) body.neutral();
    if (fresh[9]) acts.upOrDown();
    if (fresh[12] || fresh[13]) body.set({ z: body.wish.z + (fresh[12] ? 0.005 : -0.005) });
    if (fresh[14] || fresh[15]) acts.nextGait(fresh[15] ? 1 : -1);
    if (fresh[6] || fresh[7]) acts.lift(fresh[7] ? 0.1 : -0.1);
  }

  sticks([lx, ly, rx, ry], turbo) {
    if (this.mode === "walk") {
      const moving = lx || ly || rx;
      if (moving) this.drive.set("pad", -ly * (turbo ? 1 : 0.5), -lx * (turbo ? 1 : 0.5), -rx * (turbo ? 1 : 0.5), true);
      else this.drive.release("pad");
      return;
    }
    this.drive.release("pad");
    const { limits } = this.body;
    const wish = { x: -ly * limits.x, y: -lx * limits.y, pitch: -ry * limits.pitch };
    if (turbo) wish.roll = rx * limits.roll;
    else wish.yaw = -rx * limits.yaw;
    if ([lx, ly, rx, ry].some(Boolean) || this.posing) this.body.set(wish);
    this.posing = [lx, ly, rx, ry].some(Boolean);
  }
}

function clip(value) {
  return Math.max(-1, Math.min(1, value));
}

function inside(event, box) {
  return event.clientX >= box.left && event.clientX < box.right && event.clientY >= box.top && event.clientY < box.bottom;
}
