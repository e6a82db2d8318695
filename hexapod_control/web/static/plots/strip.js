// SPDX-License-Identifier: Apache-2.0
// One strip chart: a signal over the last seconds, with a cursor and lines at limits.

import { t, has } from "../texts/texts.js";
import { short } from "../panels/presentation.js";

const LEFT = 44; // [px] of the scale
const MOST_POINTS = 400;

/** @typedef {import("./history.js").History} History */
/** @typedef {import("./signals.js").Signal} Signal */

export class Strip {
  /** @type {string | undefined} */
  line;
  /** @type {string | undefined} */
  muted;
  /** @type {string | undefined} */
  warn;

  /**
   * @param {Signal} signal
   * @param {History} history
   * @param {() => void} remove
   */
  constructor(signal, history, remove) {
    this.signal = signal;
    this.history = history;
    this.series = signal.series;
    /** @type {{name: string, value: number}[]} */
    this.marks = []; // lines at limits, by name of a text
    /** @type {string[]} */
    this.colors = [];
    /** @type {number | null} */
    this.cursor = null; // [px]
    this.box = document.createElement("article");
    this.box.className = "chart";
    this.box.dataset.signal = signal.key;
    this.head = document.createElement("h3");
    this.title = document.createElement("b");
    this.title.textContent = `${t(...signal.title)} ${signal.unit}`;
    this.now = document.createElement("span");
    this.now.className = "legend";
    const close = document.createElement("button");
    close.type = "button";
    close.textContent = "✕";
    close.className = "close";
    close.setAttribute("aria-label", t("plot_remove", { name: this.title.textContent }));
    close.onclick = remove;
    this.canvas = document.createElement("canvas");
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", this.title.textContent);
    this.canvas.onpointermove = (event) => (this.cursor = event.offsetX);
    this.canvas.onpointerleave = () => (this.cursor = null);
    this.box.append(this.head, close, this.canvas);
  }

  /** @param {(name: string) => string} color */
  restyle(color) {
    this.color = color;
    this.colors = this.series.map((one) => color(one.color));
    [this.line, this.muted, this.warn] = [color("line"), color("muted"), color("warn")];
    const legends = this.signal.highest ? [] : this.series.filter((one) => one.name).map((one, i) => legend(has(one.name) ? t(one.name) : one.name, this.colors[i], one.dashed));
    this.head.replaceChildren(this.title, ...legends, this.now);
  }

  // A signal with a prefix has a series per column, found as they come.
  refresh() {
    const { prefix } = this.signal;
    if (!prefix) return;
    const columns = [...this.history.columns.keys()].filter((name) => name.startsWith(prefix));
    if (columns.length === this.series.length) return;
    this.series = columns.map((column, i) => ({ column, name: short(column.slice(prefix.length)), color: `leg-${i % 6}` }));
    if (this.color) this.restyle(this.color);
  }

  // Number of the series with the highest value now.
  get highest() {
    const values = this.series.map(({ column }) => this.history.column(column).at(-1) ?? -Infinity);
    return values.reduce((best, value, k) => (value > values[best] ? k : best), 0);
  }

  get empty() {
    return !this.series.some(({ column }) => this.history.columns.has(column));
  }

  /**
   * @param {number} now
   * @param {number} span
   */
  draw(now, span) {
    this.refresh();
    this.box.hidden = this.empty;
    const { canvas, history } = this;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    const c = width && this.color ? canvas.getContext("2d") : null;
    if (!c) return;
    const ratio = Math.min(devicePixelRatio || 1, 2);
    if (canvas.width !== Math.round(width * ratio)) [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, width, height);
    const first = history.after(now - span);
    const [low, high] = this.range(first);
    const x = (/** @type {number} */ time) => LEFT + (width - LEFT - 2) * (1 - (now - time) / span);
    const y = (/** @type {number} */ v) => 4 + (height - 8) * (1 - (v - low) / (high - low));
    this.drawScale(c, y, low, high, width, height);
    const highest = this.signal.highest ? this.highest : null;
    this.series.forEach(({ column, dashed }, k) => {
      c.strokeStyle = highest !== null ? (this.line ?? "") : this.colors[k];
      c.globalAlpha = dashed ? 0.5 : 1;
      c.setLineDash(dashed ? [4, 3] : []);
      c.lineWidth = 1.6;
      this.drawLine(c, history.column(column), first, x, y);
    });
    c.setLineDash([]);
    c.globalAlpha = 1;
    if (highest !== null && this.series[highest]) {
      [c.strokeStyle, c.lineWidth] = [this.warn ?? "", 2.2];
      this.drawLine(c, history.column(this.series[highest].column), first, x, y);
    }
    this.drawCursor(c, x, height);
  }

  /**
   * @param {CanvasRenderingContext2D} c
   * @param {(value: number) => number} y
   * @param {number} low
   * @param {number} high
   * @param {number} width
   * @param {number} height
   */
  drawScale(c, y, low, high, width, height) {
    c.font = "11px system-ui, sans-serif";
    c.textAlign = "right";
    c.textBaseline = "middle";
    c.lineWidth = 1;
    const line = (/** @type {number} */ value, /** @type {string} */ paint, /** @type {string} */ text, /** @type {number} */ at) => {
      c.strokeStyle = c.fillStyle = paint;
      c.beginPath();
      c.moveTo(LEFT, y(value));
      c.lineTo(width, y(value));
      c.stroke();
      c.fillText(text, at, Math.min(height - 7, Math.max(7, y(value))));
    };
    for (const value of [low, (low + high) / 2, high]) {
      line(value, this.line ?? "", "", 0);
      c.fillStyle = this.muted ?? "";
      c.fillText(tidy(value, high - low), LEFT - 6, Math.min(height - 7, Math.max(7, y(value))));
    }
    c.setLineDash([6, 3]);
    c.textBaseline = "bottom";
    for (const { name, value } of this.marks) line(value, this.warn ?? "", `${t(name)} ${plain(value, 1)}`, width - 4);
    c.setLineDash([]);
  }

  /**
   * @param {CanvasRenderingContext2D} c
   * @param {number[]} values
   * @param {number} first
   * @param {(time: number) => number} x
   * @param {(value: number) => number} y
   */
  drawLine(c, values, first, x, y) {
    const step = Math.ceil((values.length - first) / MOST_POINTS) || 1;
    let pen = false;
    c.beginPath();
    for (let i = first; i < values.length; i += step) {
      const known = !Number.isNaN(values[i]);
      const px = x(this.history.times[i]);
      if (known && pen) c.lineTo(px, y(values[i]));
      else if (known) c.moveTo(px, y(values[i]));
      pen = known && px >= LEFT;
    }
    c.stroke();
  }

  /**
   * A line at the cursor, with the values there in the title; without a cursor, the newest values.
   * @param {CanvasRenderingContext2D} c
   * @param {(time: number) => number} x
   * @param {number} height
   */
  drawCursor(c, x, height) {
    const { cursor } = this;
    let index = this.history.times.length - 1;
    if (cursor !== null) {
      const found = this.history.times.findIndex((time) => x(time) >= cursor);
      if (found >= 0) index = found;
      c.strokeStyle = this.muted ?? "";
      c.beginPath();
      c.moveTo(x(this.history.times[index]), 0);
      c.lineTo(x(this.history.times[index]), height);
      c.stroke();
    }
    const values = this.series.map(({ column }) => this.history.column(column)[index] ?? NaN);
    const highest = this.signal.highest && this.series[this.highest];
    const text = highest ? `${highest.name} ${plain(values[this.highest], 0)}` : cursor === null && values.length > 2 ? "" : values.map((value) => (Number.isNaN(value) ? "–" : plain(value))).join(" · ");
    if (this.now.textContent !== text) this.now.textContent = text;
  }

  /**
   * Lowest and highest value of the scale; a limit that is near is on it, too.
   * @param {number} first
   */
  range(first) {
    let [low, high] = [Infinity, -Infinity];
    for (const { column } of this.series) {
      const values = this.history.column(column);
      for (let i = first; i < values.length; i++) {
        if (values[i] < low) low = values[i];
        if (values[i] > high) high = values[i];
      }
    }
    if (low > high) return [0, this.signal.least];
    const positive = low >= 0;
    for (const { value } of this.marks) [low, high] = [Math.min(low, value), Math.max(high, value)];
    const middle = (low + high) / 2;
    const half = Math.max(high - low, this.signal.least) * 0.55;
    const bottom = positive ? Math.max(0, middle - half) : middle - half; // of what is never negative, no scale below zero
    return [bottom, Math.max(middle + half, bottom + this.signal.least)];
  }
}

/**
 * @param {string} name
 * @param {string} color
 * @param {boolean | undefined} dashed
 */
function legend(name, color, dashed) {
  const item = document.createElement("span");
  item.className = "legend";
  const mark = document.createElement("i");
  mark.style.background = color;
  if (dashed) mark.style.opacity = "0.45";
  item.append(mark, name);
  return item;
}

/**
 * @param {number} value
 * @param {number} span
 */
function tidy(value, span) {
  return plain(value, span < 0.5 ? 2 : span < 20 ? 1 : 0);
}

/**
 * Formats a number without a minus sign before zero.
 * @param {number} value
 */
function plain(value, digits = 3) {
  const text = value.toFixed(digits);
  return Number(text) === 0 ? text.replace("-", "") : text;
}
