// SPDX-License-Identifier: Apache-2.0
// A camera around the robot, moved by fingers, mouse, wheel and keys.

const STEPS = { ArrowLeft: [12, 0], ArrowRight: [-12, 0], ArrowUp: [0, 12], ArrowDown: [0, -12] };

export class OrbitCamera {
  azimuth = -0.7; // [rad]
  elevation = 0.5; // [rad]
  distance = 1.1; // [m]

  /**
   * @param {HTMLElement} canvas
   * @param {() => void} moved
   */
  constructor(canvas, moved) {
    this.moved = moved;
    /** @type {Map<number, number[]>} */
    const fingers = new Map();
    const spread = () => {
      const [a, b] = [...fingers.values()];
      return Math.hypot(a[0] - b[0], a[1] - b[1]);
    };
    canvas.addEventListener("pointerdown", (event) => {
      fingers.set(event.pointerId, [event.clientX, event.clientY]);
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      const before = fingers.get(event.pointerId);
      if (!before) return;
      const spreadBefore = fingers.size === 2 ? spread() : 0;
      fingers.set(event.pointerId, [event.clientX, event.clientY]);
      if (fingers.size === 2) this.zoom(spreadBefore / Math.max(1, spread()));
      else this.turn(event.clientX - before[0], event.clientY - before[1]);
    });
    for (const name of /** @type {const} */ (["pointerup", "pointercancel"])) canvas.addEventListener(name, (event) => fingers.delete(event.pointerId));
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(Math.exp(event.deltaY * 0.001));
    }, { passive: false });
    canvas.addEventListener("keydown", ({ key }) => {
      if (key === "+" || key === "-") this.zoom(key === "+" ? 0.9 : 1.1);
    });
    canvas.addEventListener("keydown", (event) => {
      const step = STEPS[/** @type {keyof typeof STEPS} */ (event.key)];
      if (!step) return;
      this.turn(step[0], step[1]);
      event.preventDefault();
    });
  }

  /**
   * Turns by a distance on the screen [px].
   * @param {number} dx
   * @param {number} dy
   */
  turn(dx, dy) {
    this.azimuth -= dx * 0.008;
    this.elevation = Math.max(0.05, Math.min(1.5, this.elevation + dy * 0.008));
    this.moved();
  }

  /** @param {number} factor */
  zoom(factor) {
    this.distance = Math.max(0.3, Math.min(5, this.distance * factor));
    this.moved();
  }

  /**
   * Position of the camera that looks at a target.
   * @param {number[]} target
   */
  eye([x, y, z]) {
    const flat = this.distance * Math.cos(this.elevation);
    return [x + flat * Math.cos(this.azimuth), y + flat * Math.sin(this.azimuth), z + this.distance * Math.sin(this.elevation)];
  }
}
