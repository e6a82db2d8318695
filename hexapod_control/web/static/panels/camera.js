// SPDX-License-Identifier: Apache-2.0
// Driving by eye: the image of a camera instead of the picture, or small over it; off by default. Every image is requested
// when the last one is shown, so that a slow link gets fewer images, not older ones. They are pictures of a video where
// browser and robot can do that, else single images.

import { t } from "../texts/texts.js";
import { put } from "./header.js";
import { saveFile } from "./item_buttons.js";

const PERIOD = 50; // [ms] between two requests at least
const CLIP_RATE = 15; // [Hz]
const OLD = 400; // [ms] from which an image is too old to drive fast
const PATIENCE = 3000; // [ms] after which an image is requested again
const MAX_FAILURES = 1; // of the video in sequence, after which this page shows images

export class Camera {
  on = false;
  wanted = false; // shown as soon as there are images
  /** @type {typeof import("../drawing/eye.js") | null} */
  eye = null; // loaded with the first image
  /** @type {import("../drawing/eye.js").NextFootholds | null} */
  footholds = null;
  /** @type {import("../drawing/eye.js").CameraView | null} */
  view = null; // how the newest image was taken
  /** @type {[string, number[][]][]} */
  lines = []; // drawn into the image
  /** @type {import("../drawing/video_player.js").VideoPlayer | null} */
  player = null; // if this browser can play the video
  anew = true; // whether the next request begins the video anew
  failures = 0;
  /** @type {Promise<void> | null} */
  loading = null; // of what draws and plays
  askedAt = 0; // [ms]
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
    this.video = /** @type {HTMLVideoElement} */ (root.getElementById("camera-video"));
    /** @type {HTMLImageElement | HTMLVideoElement} */
    this.picture = this.image; // the one that is visible
    this.button.onclick = () => this.show((this.wanted = !this.on));
    this.clip = /** @type {HTMLElement} */ (root.getElementById("camera-clip"));
    this.clip.onclick = () => (this.film ? this.film.stop() : this.record());
    this.note = /** @type {HTMLElement} */ (root.getElementById("camera-note"));
    for (const each of [this.image, this.video]) each.onclick = () => this.enlarge(!each.hasAttribute("data-large"));
    this.image.onload = () => this.shown(this.coming);
    connection.on("image", (detail) => this.take(detail));
    connection.addEventListener("change", () => connection.state === "open" && this.begin());
    this.show(false);
  }

  /**
   * Offers the camera while images are published.
   * @param {boolean} available
   */
  offer(available) {
    this.button.hidden = !available;
    if (available ? this.wanted && !this.on : this.on) this.show(available);
  }

  /** @param {boolean} on */
  show(on) {
    this.on = on;
    this.button.setAttribute("aria-pressed", String(on));
    this.picture.hidden = this.note.hidden = !on;
    this.clip.hidden = !on || !("MediaRecorder" in globalThis);
    if (!on) this.film?.stop();
    this.enlarge(on);
    if (!on) this.player?.close();
    if (on && !this.eye) (this.loading ??= this.load()).finally(() => this.begin());
    else this.begin();
  }

  async load() {
    const [eye, { canPlay, VideoPlayer }] = await Promise.all([import("../drawing/eye.js"), import("../drawing/video_player.js")]);
    [this.eye, this.footholds] = [eye, new eye.NextFootholds()];
    if (canPlay()) this.player = new VideoPlayer(this.video, (coming) => this.shown(coming), () => this.fail());
  }

  // Requests the first image, whatever came before.
  begin() {
    this.anew = true;
    this.ask(0);
  }

  // A video that does not play begins anew, or is given up.
  fail() {
    this.player?.close();
    this.failures += 1;
    if (this.failures > MAX_FAILURES) this.player = null;
    this.begin();
  }

  /** @param {boolean} large */
  enlarge(large) {
    for (const each of [this.image, this.video]) each.toggleAttribute("data-large", large);
    document.body.toggleAttribute("data-eye", large);
  }

  /** @param {{format: string, data: string, age?: number, view?: import("../drawing/eye.js").CameraView} & Partial<import("../drawing/video_player.js").Pictures>} image */
  take({ format, data, age, view, count = 1, key = false, header, codec }) {
    if (!this.on) return;
    const coming = { age, view: view ?? null, at: performance.now() };
    const picture = format === "h264" ? this.video : this.image;
    if (picture !== this.picture) [this.picture.hidden, picture.hidden, this.picture] = [true, false, picture];
    this.ask(PATIENCE);
    if (format === "h264") return this.player?.take({ data, count, key, header, codec }, coming);
    this.coming = coming;
    this.image.src = `data:image/${format};base64,${data}`;
  }

  /**
   * Says how old the image is that is visible now: until it was sent, on its way, and until it was drawn.
   * @param {{age?: number, view: import("../drawing/eye.js").CameraView | null, at: number} | null | undefined} coming null: it was not shown
   */
  shown(coming) {
    if (!this.on) return;
    this.anew = false;
    if (coming) {
      const now = performance.now();
      const rate = this.shownAt ? 1000 / (now - this.shownAt) : 0;
      this.rate = this.rate ? 0.9 * this.rate + 0.1 * rate : rate;
      this.shownAt = now;
      this.view = coming.view;
      const age = coming.age === undefined ? null : Math.round(coming.age + (this.connection.roundTrip ?? 0) / 2 + now - coming.at);
      put(this.note, t(age === null ? "camera_rate" : "camera_age", { age, rate: this.rate.toFixed(0) }));
      this.note.dataset.tone = age !== null && age > OLD ? "warn" : "";
      if (this.picture === this.video) this.failures = 0;
    }
    this.ask(Math.max(0, this.askedAt + PERIOD - performance.now()));
  }

  /** @param {number} now */
  draw(now) {
    const { eye, footholds, view, picture, projections } = this;
    const { pose, state, robot } = projections;
    this.canvas.hidden = !(this.on && view && picture.hasAttribute("data-large"));
    if (!eye || !footholds || !state || !robot || !pose) return;
    footholds.update(pose, state.achieved ?? null, now);
    if (this.canvas.hidden || !view) return;
    const width = Math.max(...robot.legs.map((leg) => Math.abs(leg.foothold[1])));
    const steps = eye.moves(pose.commanded) || this.map.route.length ? footholds.predict(now) : [];
    this.lines = eye.overlay({ view, body: state.body, twist: pose.commanded, width, odom: pose.odom, route: this.map.route, steps });
    eye.draw(this.canvas, this.size(), this.lines);
  }

  // Films the images with what is drawn in, until it is stopped; the clip is saved on this device.
  record() {
    const [width, height] = this.size();
    if (!width) return;
    const canvas = Object.assign(document.createElement("canvas"), { width, height });
    const c = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    const film = (this.film = new MediaRecorder(canvas.captureStream(CLIP_RATE)));
    const timer = setInterval(() => {
      c.drawImage(this.picture, 0, 0, canvas.width, canvas.height);
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

  // Width and height of the image [px].
  size() {
    const { picture, image, video } = this;
    return picture === video ? [video.videoWidth, video.videoHeight] : [image.naturalWidth, image.naturalHeight];
  }

  /** @param {number} delay */
  ask(delay) {
    clearTimeout(this.timer);
    if (!this.on) return;
    this.timer = setTimeout(() => {
      this.askedAt = performance.now();
      this.connection.send("query", { what: this.player ? (this.anew ? "video_anew" : "video") : "camera" });
      this.anew = true; // unless a picture is shown
      this.ask(PATIENCE);
    }, delay);
  }
}
