// SPDX-License-Identifier: Apache-2.0
// Driving by eye: the image of a camera instead of the picture, or small over it; off by default. Every image is requested
// when the last one is shown, so that a slow link gets fewer images, not older ones.

import { t } from "../texts/texts.js";
import { put } from "./header.js";
import { saveFile } from "./item_buttons.js";

const PERIOD = 66; // [ms] between two images at least
const CLIP_RATE = 15; // [Hz]
const OLD = 400; // [ms] from which an image is too old to drive fast
const PATIENCE = 3000; // [ms] after which an image is requested again

export class Camera {
  on = false;
  /** @type {typeof import("../drawing/eye.js") | null} */
  eye = null; // loaded with the first image
  /** @type {import("../drawing/eye.js").NextFootholds | null} */
  footholds = null;
  /** @type {import("../drawing/eye.js").CameraView | null} */
  view = null; // how the newest image was taken
  /** @type {[string, number[][]][]} */
  lines = []; // drawn into the image
  /** @type {MediaRecorder | null} */
  film = null; // of the clip that is recorded

  /**
   * @param {Document} root
   * @param {import("../connection.js").Connection} connection
   * @param {import("../drawing/projections.js").Projections} projections
   * @param {import("../drawing/map.js").RouteMap} map
   */
  constructor(root, connection, projections, map) {
    this.connection = connection;
    this.projections = projections;
    this.map = map;
    this.canvas = /** @type {HTMLCanvasElement} */ (root.getElementById("eye"));
    this.button = /** @type {HTMLElement} */ (root.getElementById("camera-button"));
    this.image = /** @type {HTMLImageElement} */ (root.getElementById("camera"));
    this.button.onclick = () => this.show(!this.on);
    this.clip = /** @type {HTMLElement} */ (root.getElementById("camera-clip"));
    this.clip.onclick = () => (this.film ? this.film.stop() : this.record());
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
    this.clip.hidden = !on || !("MediaRecorder" in globalThis);
    if (!on) this.film?.stop();
    this.enlarge(on);
    clearTimeout(this.timer);
    if (on) this.ask(0);
    if (on && !this.eye) import("../drawing/eye.js").then((eye) => ([this.eye, this.footholds] = [eye, new eye.NextFootholds()]));
  }

  /** @param {boolean} large */
  enlarge(large) {
    this.image.toggleAttribute("data-large", large);
    document.body.toggleAttribute("data-eye", large);
  }

  /** @param {{format: string, data: string, age?: number, view?: import("../drawing/eye.js").CameraView}} image */
  take({ format, data, age, view }) {
    if (!this.on) return;
    this.view = view ?? null;
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

  /** @param {number} now */
  draw(now) {
    const { eye, footholds, view, projections } = this;
    const { pose, state, robot } = projections;
    this.canvas.hidden = !(this.on && view && this.image.hasAttribute("data-large"));
    if (!eye || !footholds || !state || !robot || !pose) return;
    footholds.update(pose, state.achieved ?? null, now);
    if (this.canvas.hidden || !view) return;
    const width = Math.max(...robot.legs.map((leg) => Math.abs(leg.foothold[1])));
    const steps = eye.moves(pose.commanded) || this.map.route.length ? footholds.predict(now) : [];
    this.lines = eye.overlay({ view, body: state.body, twist: pose.commanded, width, odom: pose.odom, route: this.map.route, steps });
    eye.draw(this.canvas, this.image, this.lines);
  }

  // Films the images with what is drawn in, until it is stopped; the clip is saved on this device.
  record() {
    const { image } = this;
    if (!image.naturalWidth) return;
    const canvas = Object.assign(document.createElement("canvas"), { width: image.naturalWidth, height: image.naturalHeight });
    const c = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    const film = (this.film = new MediaRecorder(canvas.captureStream(CLIP_RATE)));
    const timer = setInterval(() => {
      c.drawImage(image, 0, 0, canvas.width, canvas.height);
      if (!this.canvas.hidden) this.eye?.strokes(c, this.lines, [0, 0, canvas.width, canvas.height]);
    }, 1000 / CLIP_RATE);
    /** @type {Blob[]} */
    const parts = [];
    film.ondataavailable = ({ data }) => parts.push(data);
    film.onstop = () => {
      clearInterval(timer);
      this.film = null;
      this.clip.setAttribute("aria-pressed", "false");
      const kind = film.mimeType.includes("mp4") ? "mp4" : "webm";
      saveFile(new Blob(parts, { type: film.mimeType }), `hexapod_${new Date().toISOString().slice(0, 19).replaceAll(":", "-")}.${kind}`);
    };
    film.start();
    this.clip.setAttribute("aria-pressed", "true");
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
