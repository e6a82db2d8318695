// Strip charts of the last three minutes, with a pause, a cursor and a file of all values.

import { t } from "../texts/texts.js";
import { short } from "../panels/presentation.js";

const HISTORY = 180000; // [ms] that is kept
export const SPANS = [20, 60, 180]; // [s] of the time axis to choose from
const PERIOD = 66; // [ms] between two frames
const SMOOTH = 0.25; // low-pass filter of the achieved velocity: weight of a new value

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
    this.canvas.setAttribute("aria-label", title);
    this.cursor = null; // [px]
    this.canvas.onpointermove = (event) => (this.cursor = event.offsetX);
    this.canvas.onpointerleave = () => (this.cursor = null);
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
    const old = this.times.findIndex((each) => each > time - HISTORY);
    if (old > 60) {
      this.times.splice(0, old);
      for (const list of this.values) list.splice(0, old);
    }
  }

  label(text) {
    this.text = text;
  }

  draw(now, span) {
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
    const first = Math.max(0, this.times.findIndex((each) => each > now - span));
    const [low, high] = this.range(first);
    const left = 44;
    const x = (time) => left + (width - left - 2) * (1 - (now - time) / span);
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
      const step = Math.ceil((list.length - first) / 400);
      for (let i = first; i < list.length; i += step) {
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
    this.drawCursor(c, x, height);
  }

  // A line at the cursor, with the values there in the title.
  drawCursor(c, x, height) {
    if (this.cursor === null) return void (this.now.textContent = this.text ?? "");
    const index = this.times.findIndex((time) => x(time) >= this.cursor);
    if (index < 0) return;
    c.strokeStyle = this.muted;
    c.beginPath();
    c.moveTo(x(this.times[index]), 0);
    c.lineTo(x(this.times[index]), height);
    c.stroke();
    this.now.textContent = this.values.map((list) => (Number.isNaN(list[index]) ? "–" : plain(list[index]))).join(" · ");
  }

  range(first) {
    let low = Infinity;
    let high = -Infinity;
    for (const list of this.values)
      for (let i = first; i < list.length; i++) {
        if (list[i] < low) low = list[i];
        if (list[i] > high) high = list[i];
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
    this.span = SPANS[0];
    this.pausedAt = null; // [ms] time at the right edge; null: now
    const pair = (color) => [{ name: t("commanded"), color, dashed: true }, { name: t("achieved"), color }];
    this.velocity = [
      new Strip(root, t("plot_vx"), "m/s", pair("leg-0"), 0.05),
      new Strip(root, t("plot_vy"), "m/s", pair("leg-1"), 0.05),
      new Strip(root, t("plot_wz"), "rad/s", pair("leg-3"), 0.2),
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
    this.addOptional(t("plot_loops"), "Hz", status.loops, 10, now);
    this.addOptional(t("plot_battery"), "V", status.battery ? { battery: status.battery.volts } : {}, 1, now);
    this.addOptional(t("plot_temperature"), "°C", status.temperatures, 10, now);
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
    for (const strip of this.all()) strip.draw(this.pausedAt ?? now, 1000 * this.span);
  }

  pause(paused) {
    this.pausedAt = paused ? performance.now() : null;
  }

  // All values as lines of comma-separated values: seconds before now, chart, series, value.
  csv(now = performance.now()) {
    const lines = ["seconds,chart,series,value"];
    for (const { title, series, times, values } of this.all())
      times.forEach((time, i) =>
        series.forEach(({ name }, k) => Number.isNaN(values[k][i]) || lines.push(`${((time - now) / 1000).toFixed(3)},${title.textContent},${name},${values[k][i]}`)),
      );
    return lines.join("\n");
  }
}
