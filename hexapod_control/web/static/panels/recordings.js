// SPDX-License-Identifier: Apache-2.0
// Recordings: start, stop, keep the last minute, the list with downloads, and the bar of a replay over the picture.

import { t } from "../texts/texts.js";
import { explain, put } from "./header.js";
import { deleteButton, itemButton, saveFile, saveFrom } from "./item_buttons.js";
import { Replay } from "../drawing/replay.js";

const LONGEST_STEP = 0.2; // [s] of a replay between two frames of the page
const DATE = /^hexapod_(\d+-\d+-\d+)_(\d+)-(\d+)-(\d+)/;

export class Recordings {
  /** @type {Replay | null} */
  replay = null;
  /** @type {any[]} */
  list = [];
  missing = "";
  /** @type {number | null} */
  buffered = null; // [s] in memory; null while the recorder starts
  /** @type {any} */
  recording = null;
  /** @type {number | undefined} */
  drawnAt; // [ms]

  /**
   * `shows(replay)` is called when a replay starts (or null: ends), `draws(frame)` for each of its frames.
   * @param {Document} root
   * @param {import("../connection.js").Connection} connection
   * @param {{shows: (replay: Replay | null) => void, draws: (frame: any) => void, hint: (text: string) => void}} effects
   */
  constructor(root, connection, { shows, draws, hint }) {
    this.connection = connection;
    this.shows = shows;
    this.draws = draws;
    this.hint = hint;
    /** @type {(id: string) => any} */
    const find = (id) => root.getElementById(id);
    this.button = find("record");
    this.keep = find("keep-minute");
    this.note = find("record-note");
    this.lines = find("record-list");
    this.chip = find("chip-record");
    this.bar = find("replay");
    this.title = find("replay-name");
    this.play = find("replay-play");
    this.slider = find("replay-at");
    this.time = find("replay-time");
    this.button.onclick = () => this.act(this.recording ? "stop" : "start");
    this.keep.onclick = () => this.act("keep");
    this.play.onclick = () => this.replay?.toggle();
    this.slider.oninput = () => this.replay?.seek(Number(this.slider.value));
    find("replay-end").onclick = () => this.show(null);
    connection.on("recordings", (detail) => this.take(detail));
    connection.on("download", (detail) => this.fetch(detail));
  }

  /**
   * @param {string} act
   * @param {string} [name]
   */
  act(act, name = "") {
    this.connection.send("recording", { act, name });
  }

  /** @param {any} message */
  take({ list, missing }) {
    Object.assign(this, { list, missing });
    this.offer();
    this.lines.replaceChildren(...list.map((/** @type {any} */ one) => this.line(one)));
    if (!list.length) this.lines.append(Object.assign(document.createElement("li"), { textContent: t("no_recordings") }));
  }

  /**
   * Shows whether a bag is being recorded; called twice a second.
   * @param {any} status
   */
  status({ recording, buffered }) {
    Object.assign(this, { recording, buffered });
    this.offer();
    this.button.textContent = t(recording ? "record_stop" : "record_start");
    this.button.setAttribute("aria-pressed", String(Boolean(recording)));
    this.chip.hidden = !recording;
    this.chip.textContent = recording ? `● ${Math.round(recording.seconds)} s` : "";
  }

  // A button that cannot act is grey and says why; the note says it without a touch.
  offer() {
    const { missing, buffered, recording } = this;
    /** @type {import("./presentation.js").Say | null} */
    const why = missing ? ["record_missing", { text: missing }] : buffered === null ? ["record_starting", {}] : null;
    explain(this.button, why);
    explain(this.keep, why ?? (buffered ? null : ["record_empty", {}]));
    put(this.note, why ? t(...why) : recording ? t("recording_for", { seconds: Math.round(recording.seconds), size: megabytes(recording.bytes) }) : buffered ? t("buffered", { seconds: buffered }) : t("record_empty"));
  }

  /** @param {any} recording */
  line({ name, size, seconds }) {
    const item = document.createElement("li");
    const title = Object.assign(document.createElement("b"), { textContent: readable(name) });
    const length = seconds === null ? t("incomplete") : `${Math.round(seconds)} s`;
    const note = Object.assign(document.createElement("span"), { textContent: `${length} · ${megabytes(size)}` });
    const buttons = Object.assign(document.createElement("div"), { className: "row" });
    for (const act of ["replay", "bag", "csv"]) buttons.append(itemButton(`record_${act}`, readable(name), "", () => this.act(act, name)));
    buttons.append(deleteButton(readable(name), () => this.act("delete", name)));
    item.append(title, note, buttons);
    return item;
  }

  /**
   * Fetches what the robot offers: a file for the browser, or the frames of a replay.
   * @param {any} offer
   */
  async fetch({ what, name, file, address }) {
    if (what === "bag" || what === "report") return saveFrom(address, file);
    this.hint(t("record_reading"));
    try {
      const answer = await fetch(address);
      if (!answer.ok) return this.hint(await answer.text());
      if (what === "replay") return this.show(new Replay(name, await answer.json()));
      saveFile(await answer.blob(), file);
    } catch {
      this.hint(t("record_unread"));
    }
  }

  /**
   * Starts a replay, or ends it (null).
   * @param {Replay | null} replay
   */
  show(replay) {
    this.replay = replay;
    this.bar.hidden = !replay;
    document.body.toggleAttribute("data-replay", Boolean(replay));
    if (replay) {
      this.hint("");
      this.title.textContent = t("replay_of", { name: readable(replay.name) });
      Object.assign(this.slider, { min: replay.first, max: replay.last, step: 0.05 });
    }
    this.shows(replay);
  }

  /**
   * Draws the frame that is due at a time [ms].
   * @param {number} now
   */
  draw(now) {
    const passed = Math.min(LONGEST_STEP, (now - (this.drawnAt ?? now)) / 1000);
    this.drawnAt = now;
    if (!this.replay) return;
    const frame = this.replay.advance(passed);
    const symbol = this.replay.playing ? "❚❚" : "▶";
    if (this.play.textContent !== symbol) {
      this.play.textContent = symbol;
      this.play.setAttribute("aria-label", t(this.replay.playing ? "pause" : "play"));
    }
    if (!frame) return;
    if (document.activeElement !== this.slider || this.replay.playing) this.slider.value = String(this.replay.at);
    this.time.textContent = `${this.replay.at.toFixed(1)} / ${this.replay.last.toFixed(1)} s`;
    this.draws(frame);
  }
}

/** @param {number} bytes */
function megabytes(bytes) {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

/**
 * The date and time in the name of a recording, or its name.
 * @param {string} name
 */
function readable(name) {
  const [, date, ...time] = DATE.exec(name) ?? [];
  return date ? `${date} ${time.join(":")}` : name;
}
