// SPDX-License-Identifier: Apache-2.0
// The image of a camera over the picture, off by default. Every image is requested when the last one is shown, so that a
// slow link gets fewer images.

const PERIOD = 66; // [ms] between two images at least
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
    this.image.onclick = () => this.image.toggleAttribute("data-large");
    this.image.onload = () => this.ask(PERIOD);
    connection.on("image", ({ format, data }) => this.on && (this.image.src = `data:image/${format};base64,${data}`));
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
    this.image.hidden = !on;
    clearTimeout(this.timer);
    if (on) this.ask(0);
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
