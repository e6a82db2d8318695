// SPDX-License-Identifier: Apache-2.0
// The running gait diagram, filled while a foot is planted, and the force on each foot as a bar.

import { short } from "../panels/presentation.js";

const SPAN = 4000; // [ms] of the time axis
const LABEL = 34; // [px]
const ROW = 14; // [px] of a leg: its name must fit

export class GaitDiagram {
  /** @type {string[]} */
  legs = [];
  /** @type {string[]} */
  colors = [];
  muted = "";
  /** @type {[number, number[]][]} */
  history = []; // [time, planted]
  /** @type {number[] | null | undefined} */
  forces;
  most = 1; // [N] greatest force seen

  /**
   * @param {HTMLCanvasElement} gait
   * @param {HTMLCanvasElement} forces
   */
  constructor(gait, forces) {
    this.canvases = { gait, forces };
  }

  /** @param {Shape} shape */
  shape(shape) {
    this.legs = shape.legs.map((leg) => short(leg.name));
    for (const canvas of Object.values(this.canvases)) canvas.style.minHeight = `${ROW * this.legs.length}px`;
  }

  /** @param {(name: string) => string} color */
  restyle(color) {
    this.colors = this.legs.map((_, i) => color(`leg-${i % 6}`));
    this.muted = color("muted");
  }

  /** @param {RobotState} state */
  update(state, now = performance.now()) {
    if (!state.planted) return;
    this.history.push([now, state.planted]);
    while (this.history[0][0] < now - SPAN) this.history.shift();
    this.forces = state.forces;
    if (state.forces) this.most = Math.max(this.most, ...state.forces);
  }

  /** @param {number} now */
  draw(now) {
    if (!this.colors.length) return;
    this.paint("gait", (c, y, height, width, leg) => this.drawStance(c, y, height, width, leg, now));
    this.paint("forces", (c, y, height, width, leg) => this.drawForce(c, y, height, width, leg));
  }

  /**
   * @param {"gait" | "forces"} name
   * @param {(c: CanvasRenderingContext2D, y: number, height: number, width: number, leg: number) => void} row
   */
  paint(name, row) {
    const canvas = this.canvases[name];
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (!width || !height) return;
    const ratio = Math.min(devicePixelRatio || 1, 2);
    const size = [width, height].map((value) => Math.round(value * ratio));
    if (canvas.width !== size[0] || canvas.height !== size[1]) [canvas.width, canvas.height] = size;
    const c = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, width, height);
    c.font = "11px system-ui, sans-serif";
    c.textBaseline = "middle";
    const tall = height / this.legs.length;
    this.legs.forEach((leg, i) => {
      c.fillStyle = this.muted;
      c.fillText(leg, 0, (i + 0.5) * tall);
      c.fillStyle = this.colors[i];
      row(c, i * tall + 2, tall - 4, width, i);
    });
  }

  /**
   * @param {CanvasRenderingContext2D} c
   * @param {number} y
   * @param {number} height
   * @param {number} width
   * @param {number} leg
   * @param {number} now
   */
  drawStance(c, y, height, width, leg, now) {
    const x = (/** @type {number} */ time) => LABEL + (width - LABEL) * (1 - (now - time) / SPAN);
    /** @type {number | null} */
    let start = null;
    for (const [time, planted] of /** @type {[number, number[]][]} */ ([...this.history, [now, []]])) {
      if (planted[leg] && start === null) start = time;
      else if (!planted[leg] && start !== null) {
        c.fillRect(Math.max(LABEL, x(start)), y, Math.max(1, x(time) - Math.max(LABEL, x(start))), height);
        start = null;
      }
    }
  }

  /**
   * @param {CanvasRenderingContext2D} c
   * @param {number} y
   * @param {number} height
   * @param {number} width
   * @param {number} leg
   */
  drawForce(c, y, height, width, leg) {
    const force = this.forces?.[leg];
    if (force === undefined || force === null) return;
    const room = width - LABEL - 50;
    c.fillRect(LABEL, y, (room * Math.max(0, force)) / this.most, height);
    c.fillStyle = this.muted;
    c.fillText(`${force.toFixed(1)} N`, LABEL + room + 6, y + height / 2);
  }
}
