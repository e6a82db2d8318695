// Who steers on this page: views, sticks, keys, gamepad. One velocity goes to the robot, 20 times a second while one
// of them is active; when none is, one zero and silence.

const PERIOD = 50; // [ms]

export class Drive {
  constructor(link) {
    this.link = link;
    this.sources = new Map(); // name -> [vx, vy, wz] as shares, the newest last
    this.speed = 0.5;
    this.paused = false;
    this.sent = false;
    setInterval(() => this.send(), PERIOD);
  }

  // A source steers; full: without the page's speed setting.
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
    this.sent = true; // a zero, even if the last one was a zero: it ends what a STOP holds back
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
    this.link.send("drive", on ? { on, vx: round(vx), vy: round(vy), wz: round(wz) } : { on });
  }
}

// The body pose that is asked for; sent when it changes, at most every PERIOD.
export class BodyPose {
  constructor(link) {
    this.link = link;
    this.limits = { x: 0.03, y: 0.03, z: 0.06, roll: 0.26, pitch: 0.26, yaw: 0.3 };
    this.wish = { x: 0, y: 0, z: 0, roll: 0, pitch: 0, yaw: 0 };
    this.lean = 0; // [m] height of a drag on the front view, over the wish
    this.changed = false;
    this.listeners = [];
    setInterval(() => this.send(), PERIOD);
  }

  set(part) {
    for (const [name, value] of Object.entries(part)) {
      const most = this.limits[name];
      this.wish[name] = Math.max(-most, Math.min(most, value));
    }
    this.changed = true;
    for (const listener of this.listeners) listener(this);
  }

  leanTo(height) {
    this.lean = height;
    this.changed = true;
    for (const listener of this.listeners) listener(this);
  }

  neutral() {
    this.lean = 0;
    this.set({ x: 0, y: 0, z: 0, roll: 0, pitch: 0, yaw: 0 });
  }

  get height() {
    return Math.max(-this.limits.z, Math.min(this.limits.z, this.wish.z + this.lean));
  }

  send() {
    if (!this.changed) return;
    this.changed = false;
    const all = Object.fromEntries(Object.entries({ ...this.wish, z: this.height }).map(([name, value]) => [name, round(value)]));
    this.link.send("pose", all);
  }
}

function round(value) {
  return Math.round(value * 1e4) / 1e4;
}
