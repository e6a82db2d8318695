// Merges the inputs of the page (views, sticks, keys, gamepad) into one velocity. It is sent 20 times a second while an
// input is active; when the last input ends, one zero is sent.

const PERIOD = 50; // [ms]

export class VelocityInput {
  constructor(connection) {
    this.connection = connection;
    this.sources = new Map(); // name -> [vx, vy, wz] as shares, the newest last
    this.speed = 0.5;
    this.paused = false;
    this.sent = false;
    setInterval(() => this.send(), PERIOD);
  }

  // Sets the velocity of one input; `full` ignores the speed setting of the page.
  set(name, vx, vy, wz, full = false) {
    if (this.paused) return;
    const fresh = !this.sources.has(name);
    this.sources.delete(name);
    const speed = full ? 1 : this.speed;
    this.sources.set(name, [vx, vy, wz].map((v) => Math.max(-1, Math.min(1, v)) * speed));
    if (fresh) this.send();
  }

  release(name) {
    if (this.sources.delete(name) && !this.sources.size) this.send();
  }

  stop() {
    this.sources.clear();
    this.sent = true; // so that a zero is sent in any case: it ends the blocking after a STOP
    this.send();
  }

  pause(paused) {
    this.paused = paused;
    if (paused) this.stop();
  }

  get current() {
    return [...this.sources.values()].at(-1) ?? null;
  }

  send() {
    const [vx, vy, wz] = this.current ?? [0, 0, 0];
    const on = this.current !== null;
    if (!on && !this.sent) return;
    this.sent = on;
    this.connection.send("drive", on ? { on, vx: round(vx), vy: round(vy), wz: round(wz) } : { on });
  }
}

// The requested body pose; sent when it changes, at most once per PERIOD.
export class BodyPose {
  constructor(connection) {
    this.connection = connection;
    this.limits = { x: 0.03, y: 0.03, z: 0.06, roll: 0.26, pitch: 0.26, yaw: 0.3 };
    this.target = { x: 0, y: 0, z: 0, roll: 0, pitch: 0, yaw: 0 };
    this.dragHeight = 0; // [m] height by dragging on the front view, added to the target
    this.changed = false;
    this.listeners = [];
    setInterval(() => this.send(), PERIOD);
  }

  set(part) {
    for (const [name, value] of Object.entries(part)) {
      const most = this.limits[name];
      this.target[name] = Math.max(-most, Math.min(most, value));
    }
    this.changed = true;
    for (const listener of this.listeners) listener(this);
  }

  dragTo(height) {
    this.dragHeight = height;
    this.changed = true;
    for (const listener of this.listeners) listener(this);
  }

  neutral() {
    this.dragHeight = 0;
    this.set({ x: 0, y: 0, z: 0, roll: 0, pitch: 0, yaw: 0 });
  }

  get height() {
    return Math.max(-this.limits.z, Math.min(this.limits.z, this.target.z + this.dragHeight));
  }

  send() {
    if (!this.changed) return;
    this.changed = false;
    const pose = Object.fromEntries(Object.entries({ ...this.target, z: this.height }).map(([name, value]) => [name, round(value)]));
    this.connection.send("pose", pose);
  }
}

function round(value) {
  return Math.round(value * 1e4) / 1e4;
}
