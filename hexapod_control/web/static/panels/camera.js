// SPDX-License-Identifier: Apache-2.0
// Driving by eye: the image of a camera instead of the picture, or small over it; off by default. Every image is requested
// when the last one is shown, so that a slow link gets fewer images, not older ones.

import { t } from "../texts/texts.js";
import { put } from "./header.js";

const PERIOD = 66; // [ms] between two images at least
const OLD = 400; // [ms] from which an image is too old to drive fast
const PATIENCE = 3000; // [ms] after which an image is requested again

export class Camera {
  on = false;

  /**
   * @param {Document} root
   * @param {import("../connection.js").Connection} connection
   */
  constructor(root, connection) {
    this.connection = connection;
    this.button = /** @type {HTMLElement} */ (root.getElementById("camera-button"));
    this.image = /** @type {HTMLImageElement} */ (root.getElementById("camera"));
    this.button.onclick = () => this.show(!this.on);
    this.note = /** @type {HTMLElement} */ (root.getElementById("camera-note"));
    this.image.onclick = () => this.enlarge(!this.image.hasAttribute("data-large"));
    this.image.onload = () => this.shown();
    connection.on("image", (detail) => this.take(detail));
    this.show(false);
  }

  /**
   * Offers the camera while images are published.
   * @param {boolean} available
   */
  offer(available) {
    this.button.hidden = !available;
    if (!available && this.on) this.show(false);
  }

  /** @param {boolean} on */
  show(on) {
    this.on = on;
    this.button.setAttribute("aria-pressed", String(on));
    this.image.hidden = this.note.hidden = !on;
    this.enlarge(on);
    clearTimeout(this.timer);
    if (on) this.ask(0);
  }

  /** @param {boolean} large */
  enlarge(large) {
    this.image.toggleAttribute("data-large", large);
    document.body.toggleAttribute("data-eye", large);
  }

  /** @param {{format: string, data: string, age?: number}} image */
  take({ format, data, age }) {
    if (!this.on) return;
    this.age = age;
    this.cameAt = performance.now();
    this.image.src = `data:image/${format};base64,${data}`;
  }

  // Says how old the image is that is visible now: until it was sent, on its way, and until it was drawn.
  shown() {
    const now = performance.now();
    const rate = this.shownAt ? 1000 / (now - this.shownAt) : 0;
    this.rate = this.rate ? 0.9 * this.rate + 0.1 * rate : rate;
    this.shownAt = now;
    const age = this.age === undefined ? null : Math.round(this.age + (this.connection.roundTrip ?? 0) / 2 + now - (this.cameAt ?? now));
    put(this.note, t(age === null ? "camera_rate" : "camera_age", { age, rate: this.rate.toFixed(0) }));
    this.note.dataset.tone = age !== null && age > OLD ? "warn" : "";
    this.ask(PERIOD);
  }

  /** @param {number} delay */
  ask(delay) {
    clearTimeout(this.timer);
    if (!this.on) return;
    this.timer = setTimeout(() => {
      this.connection.send("query", { what: "camera" });
      this.ask(PATIENCE);
    }, delay);
  }
}
