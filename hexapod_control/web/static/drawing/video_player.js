// SPDX-License-Identifier: Apache-2.0
// Plays the video of the camera by Media Source Extensions, which pages by http have as well. A picture lasts less time in
// the video than passes until the next one comes: so the player always waits at its end, and shows each picture at once.

const STEP = 0.02; // [s] of a picture in the video, as in video.py
const UNSEEN = 700; // [ms] after which a picture counts as not shown
const MAX_UNSEEN = 2; // in sequence
const CODEC = 'video/mp4; codecs="avc1.42c01e"';
/** @typedef {{data: string, count: number, key: boolean, header?: string, codec?: string}} Pictures see video_stream.py */

const Source = /** @type {typeof MediaSource | undefined} */ (/** @type {any} */ (globalThis).ManagedMediaSource ?? globalThis.MediaSource);

export function canPlay() {
  return Boolean(Source?.isTypeSupported(CODEC)) && "requestVideoFrameCallback" in HTMLVideoElement.prototype;
}

/** @param {string} text base64 */
const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

export class VideoPlayer {
  /** @type {MediaSource | null} */
  source = null;
  /** @type {SourceBuffer | null} */
  buffer = null;
  /** @type {((buffer: SourceBuffer) => void)[]} */
  work = []; // of the buffer, one at a time
  /** @type {Map<number, any>} */
  abouts = new Map(); // of pictures that are not shown yet, by their number
  count = 0; // pictures
  keyAt = 0; // number of the newest key frame that is not shown yet
  unseen = 0;

  /**
   * @param {HTMLVideoElement} element
   * @param {(about: any) => void} shown called with what was given with the newest picture that is visible
   * @param {() => void} failed the video has to begin anew
   */
  constructor(element, shown, failed) {
    this.element = element;
    this.shown = shown;
    this.failed = failed;
    element.onerror = () => this.source && failed();
  }

  /**
   * Adds pictures; those of a video of which this player has no beginning are left out.
   * @param {Pictures} pictures
   * @param {any} about given to `shown` with the last of them
   */
  take({ data, count, key, header, codec }, about) {
    if (header) this.open(`video/mp4; codecs="${codec}"`, header);
    if (!this.source) return;
    const first = this.count;
    this.count += count;
    this.abouts.set(this.count - 1, about);
    this.work.push((buffer) => buffer.appendBuffer(bytes(data)));
    if (key) this.keyAt = first;
    this.next();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.miss(), UNSEEN);
  }

  /**
   * @param {string} kind
   * @param {string} header
   */
  open(kind, header) {
    this.close();
    if (!Source) return;
    const source = (this.source = new Source());
    source.onsourceopen = () => {
      if (source !== this.source) return;
      this.buffer = source.addSourceBuffer(kind);
      this.buffer.mode = "sequence";
      this.buffer.onupdateend = () => this.next();
      this.next();
    };
    this.work = [(buffer) => buffer.appendBuffer(bytes(header))];
    this.element.disableRemotePlayback = true; // otherwise an iPhone opens no source
    this.element.src = this.address = URL.createObjectURL(source);
    this.element.play().catch((error) => error.name === "NotAllowedError" && source === this.source && this.failed());
    this.watch(source);
  }

  next() {
    const { buffer, source } = this;
    if (!buffer || buffer.updating || source?.readyState !== "open") return;
    try {
      this.work.shift()?.(buffer);
    } catch {
      this.failed();
    }
  }

  /** @param {MediaSource} source */
  watch(source) {
    this.element.requestVideoFrameCallback((_, { mediaTime }) => {
      if (source !== this.source) return;
      this.watch(source);
      const seen = [...this.abouts].filter(([number]) => number <= Math.round(mediaTime / STEP));
      for (const [number] of seen) this.abouts.delete(number);
      if (!seen.length) return;
      clearTimeout(this.timer);
      this.unseen = 0;
      const [number] = seen[seen.length - 1];
      if (this.keyAt && number >= this.keyAt) this.forget(this.keyAt);
      this.shown(seen[seen.length - 1][1]);
    });
  }

  /**
   * Removes the pictures before a key frame: nothing refers to them any more.
   * @param {number} key
   */
  forget(key) {
    this.work.push((buffer) => buffer.remove(0, (key - 0.5) * STEP));
    this.keyAt = 0;
    this.next();
  }

  // A picture was not shown: in a page that is not visible none is.
  miss() {
    if (document.hidden) return;
    this.unseen += 1;
    if (this.unseen > MAX_UNSEEN) this.failed();
    else this.shown(null);
  }

  close() {
    clearTimeout(this.timer);
    this.source = this.buffer = null;
    this.abouts.clear();
    this.count = this.keyAt = this.unseen = 0;
    if (!this.address) return;
    URL.revokeObjectURL(this.address);
    this.address = "";
    this.element.removeAttribute("src");
    this.element.load();
  }
}
