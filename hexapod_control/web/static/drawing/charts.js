// Strip charts of the last seconds, and the list of diagnostics.

const SPAN = 20000; // [ms] length of the time axis
const PERIOD = 66; // [ms] between two frames
const SMOOTH = 0.25; // low-pass filter of the achieved velocity: weight of a new value
const LEG_NAMES = { left: "L", right: "R", front: "F", middle: "M", rear: "R" };

function legend(name, color, dashed) {
  const item = document.createElement("span");
  item.className = "legend";
  const mark = document.createElement("i");
  mark.style.background = color;
  if (dashed) mark.style.opacity = "0.45";
  item.append(mark, name);
  return item;
}

class Strip {
  constructor(parent, title, unit, series, least, wide) {
    this.unit = unit;
    this.series = series; // {name, color: css variable, dashed}
    this.least = least; // smallest span of the value axis
    this.times = [];
    this.values = series.map(() => []);
    const box = document.createElement("article");
    box.className = wide ? "chart wide" : "chart";
    const head = document.createElement("h3");
    this.title = document.createElement("b");
    this.title.textContent = title;
    this.head = head;
    head.append(this.title);
    this.now = document.createElement("span");
    this.now.className = "legend";
    this.canvas = document.createElement("canvas");
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", `${title} over time`);
    box.append(head, this.canvas);
    parent.append(box);
  }

  restyle(color) {
    this.colors = this.series.map((one) => color(one.color));
    this.line = color("line");
    this.muted = color("muted");
    this.head.replaceChildren(this.title, ...this.series.map((one, i) => legend(one.name, this.colors[i], one.dashed)), this.now);
  }

  add(time, values) {
    this.times.push(time);
    values.forEach((value, i) => this.values[i].push(value ?? NaN));
    const old = this.times.findIndex((t) => t > time - SPAN);
    if (old > 60) {
      this.times.splice(0, old);
      for (const list of this.values) list.splice(0, old);
    }
  }

  label(text) {
    this.now.textContent = text;
  }

  draw(now) {
    const { canvas } = this;
    const width = canvas.clientWidth;
    const height = canvas.clientHeight;
    if (!width || !this.colors) return;
    const ratio = Math.min(devicePixelRatio || 1, 2);
    if (canvas.width !== Math.round(width * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    const c = canvas.getContext("2d");
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, width, height);
    const [low, high] = this.range();
    const left = 44;
    const x = (t) => left + (width - left - 2) * (1 - (now - t) / SPAN);
    const y = (v) => 4 + (height - 8) * (1 - (v - low) / (high - low));
    c.font = "11px system-ui, sans-serif";
    c.textAlign = "right";
    c.textBaseline = "middle";
    c.lineWidth = 1;
    for (const value of [low, (low + high) / 2, high]) {
      c.strokeStyle = this.line;
      c.beginPath();
      c.moveTo(left, y(value));
      c.lineTo(width, y(value));
      c.stroke();
      c.fillStyle = this.muted;
      c.fillText(tidy(value, high - low), left - 6, Math.min(height - 7, Math.max(7, y(value))));
    }
    this.values.forEach((list, k) => {
      c.strokeStyle = this.colors[k];
      c.globalAlpha = this.series[k].dashed ? 0.5 : 1;
      c.setLineDash(this.series[k].dashed ? [4, 3] : []);
      c.lineWidth = 1.6;
      c.beginPath();
      let pen = false;
      const step = list.length > 400 ? 2 : 1;
      for (let i = 0; i < list.length; i += step) {
        const px = x(this.times[i]);
        if (px < left || Number.isNaN(list[i])) pen = false;
        else if (pen) c.lineTo(px, y(list[i]));
        else c.moveTo(px, y(list[i]));
        pen = px >= left && !Number.isNaN(list[i]);
      }
      c.stroke();
    });
    c.setLineDash([]);
    c.globalAlpha = 1;
  }

  range() {
    let low = Infinity;
    let high = -Infinity;
    for (const list of this.values)
      for (const value of list) {
        if (value < low) low = value;
        if (value > high) high = value;
      }
    if (low > high) return [0, this.least];
    const middle = (low + high) / 2;
    const half = Math.max(high - low, this.least) * 0.55;
    return [middle - half, middle + half];
  }
}

function tidy(value, span) {
  return plain(value, span < 0.5 ? 2 : span < 20 ? 1 : 0);
}

// Formats a number without a minus sign before zero.
function plain(value, digits = 3) {
  const text = value.toFixed(digits);
  return Number(text) === 0 ? text.replace("-", "") : text;
}

export class Charts {
  constructor(root) {
    this.root = root;
    const pair = (color) => [{ name: "commanded", color, dashed: true }, { name: "achieved", color }];
    this.velocity = [
      new Strip(root, "Forward m/s", "m/s", pair("leg-0"), 0.05),
      new Strip(root, "Left m/s", "m/s", pair("leg-1"), 0.05),
      new Strip(root, "Turn rad/s", "rad/s", pair("leg-3"), 0.2),
    ];
    this.joints = [];
    this.loops = null;
    this.optional = {};
    this.drawn = 0;
    this.smooth = [NaN, NaN, NaN];
  }

  shape(shape) {
    if (this.joints.length) return;
    const series = shape.legs.map((leg, i) => ({ name: short(leg.name), color: `leg-${i % 6}` }));
    this.joints = ["Coxa °", "Femur °", "Tibia °"].map((title) => new Strip(this.root, title, "°", series, 20));
    this.more = document.createElement("article");
    this.more.className = "chart wide";
    const head = document.createElement("h3");
    const title = document.createElement("b");
    title.textContent = "Diagnostics";
    head.append(title);
    this.list = document.createElement("ul");
    this.list.id = "diagnostics";
    this.more.append(head, this.list);
    this.root.prepend(this.more);
    this.restyle();
  }

  restyle() {
    const style = getComputedStyle(document.documentElement);
    const color = (name) => style.getPropertyValue(`--${name}`).trim();
    for (const strip of this.all()) strip.restyle(color);
  }

  all() {
    return [...this.velocity, ...this.joints, ...Object.values(this.optional)];
  }

  update(state) {
    const now = performance.now();
    this.velocity.forEach((strip, k) => {
      const commanded = state.commanded?.[k] ?? 0;
      const raw = state.achieved?.[k] ?? NaN;
      const before = Number.isNaN(this.smooth[k]) ? raw : this.smooth[k];
      const achieved = (this.smooth[k] = before + SMOOTH * (raw - before));
      strip.add(now, [commanded, achieved]);
      strip.label(Number.isNaN(achieved) ? "–" : `${plain(commanded)} → ${plain(achieved)}`);
    });
    if (state.joints)
      this.joints.forEach((strip, k) => strip.add(now, state.joints.filter((_, i) => i % 3 === k).map((q) => (q * 180) / Math.PI)));
  }

  status(status) {
    const now = performance.now();
    this.addOptional("Loop rate Hz", "Hz", status.loops, 10, now);
    this.addOptional("Battery V", "V", status.battery ? { battery: status.battery.volts } : {}, 1, now);
    this.addOptional("Servo temperature °C", "°C", status.temperatures, 10, now);
    if (!this.list) return;
    this.list.replaceChildren(
      ...status.diagnostics.map(({ name, level, text }) => {
        const item = document.createElement("li");
        item.dataset.level = level;
        const node = document.createElement("b");
        node.textContent = name;
        const message = document.createElement("span");
        message.textContent = text;
        item.append(node, message);
        return item;
      }),
    );
  }

  // Adds values to a chart, which is created with its first values.
  addOptional(title, unit, values, least, now) {
    const names = Object.keys(values ?? {});
    if (!names.length) return;
    let strip = this.optional[title];
    if (!strip || names.some((name) => !strip.series.some((one) => one.name === name))) {
      strip?.canvas.parentElement.remove();
      const series = names.map((name, i) => ({ name, color: `leg-${i % 6}` }));
      this.optional[title] = strip = new Strip(this.root, title, unit, series, least);
      this.restyle();
    }
    strip.add(now, strip.series.map((one) => values[one.name]));
  }

  draw(now) {
    if (now - this.drawn < PERIOD || !this.root.offsetParent) return;
    this.drawn = now;
    for (const strip of this.all()) strip.draw(now);
  }
}

function short(leg) {
  return leg.split("_").map((word) => LEG_NAMES[word] ?? word).join("");
}
