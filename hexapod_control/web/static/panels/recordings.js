// Recordings: start, stop, keep the last minute, the list with downloads, and the bar of a replay over the picture.

import { t } from "../texts/texts.js";
import { Replay } from "../drawing/replay.js";

const SURE = 3000; // [ms] in which a second press deletes
const LONGEST_STEP = 0.2; // [s] of a replay between two frames of the page
const DATE = /^hexapod_(\d+-\d+-\d+)_(\d+)-(\d+)-(\d+)/;

export class Recordings {
  /** @type {HTMLElement} */
  button;
  /** @type {HTMLElement} */
  keep;
  /** @type {HTMLElement} */
  note;
  /** @type {HTMLElement} */
  lines;
  /** @type {HTMLElement} */
  chip;
  /** @type {HTMLElement} */
  bar;
  /** @type {HTMLElement} */
  title;
  /** @type {HTMLElement} */
  play;
  /** @type {HTMLInputElement} */
  slider;
  /** @type {HTMLElement} */
  time;
  /** @type {Replay | null} */
  replay;
  /** @type {import("../connection.js").Connection} */
  connection;
  /** @type {(text: string) => void} */
  hint;
  /** @type {(replay: Replay | null) => void} */
  shows;
  /** @type {(frame: any) => void} */
  draws;

  // `shows(replay)` is called when a replay starts (or null: ends), `draws(frame)` for each of its frames.
  constructor(root, connection, { shows, draws, hint }) {
    Object.assign(this, { connection, shows, draws, hint, replay: null, list: [], missing: "", recording: null });
    const find = (id) => root.getElementById(id);
    [this.button, this.keep, this.note, this.lines, this.chip] = ["record", "keep-minute", "record-note", "record-list", "chip-record"].map(find);
    [this.bar, this.title, this.play, this.slider, this.time] = ["replay", "replay-name", "replay-play", "replay-at", "replay-time"].map(find);
    this.button.onclick = () => this.act(this.recording ? "stop" : "start");
    this.keep.onclick = () => this.act("keep");
    this.play.onclick = () => this.replay?.toggle();
    this.slider.oninput = () => this.replay?.seek(Number(this.slider.value));
    find("replay-end").onclick = () => this.show(null);
    connection.on("recordings", (detail) => this.take(detail));
    connection.on("download", (detail) => this.fetch(detail));
  }

  act(act, name = "") {
    this.connection.send("recording", { act, name });
  }

  take({ list, missing }) {
    Object.assign(this, { list, missing });
    this.lines.replaceChildren(...list.map((one) => this.line(one)));
    if (!list.length) this.lines.append(Object.assign(document.createElement("li"), { textContent: missing || t("no_recordings") }));
  }

  // Shows whether a bag is being recorded; called twice a second.
  status({ recording, buffered }) {
    this.recording = recording;
    this.button.textContent = t(recording ? "record_stop" : "record_start");
    this.button.setAttribute("aria-pressed", String(Boolean(recording)));
    this.note.textContent = recording ? t("recording_for", { seconds: Math.round(recording.seconds), size: megabytes(recording.bytes) }) : t("buffered", { seconds: buffered });
    this.chip.hidden = !recording;
    this.chip.textContent = recording ? `● ${Math.round(recording.seconds)} s` : "";
  }

  line({ name, size, seconds }) {
    const item = document.createElement("li");
    const title = Object.assign(document.createElement("b"), { textContent: readable(name) });
    const length = seconds === null ? t("incomplete") : `${Math.round(seconds)} s`;
    const note = Object.assign(document.createElement("span"), { textContent: `${length} · ${megabytes(size)}` });
    const buttons = Object.assign(document.createElement("div"), { className: "row" });
    for (const act of ["replay", "bag", "csv"]) buttons.append(this.action(act, name, () => this.act(act, name)));
    const remove = this.action("delete", name, () => {
      if (remove.dataset.sure) return this.act("delete", name);
      remove.dataset.sure = "yes";
      remove.textContent = t("record_delete_sure");
      setTimeout(() => {
        delete remove.dataset.sure;
        remove.textContent = t("record_delete");
      }, SURE);
    });
    buttons.append(remove);
    item.append(title, note, buttons);
    return item;
  }

  action(act, name, press) {
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: t(`record_${act}`), onclick: press });
    button.setAttribute("aria-label", `${t(`record_${act}`)}: ${readable(name)}`);
    button.dataset.act = act;
    if (act === "delete") button.dataset.needs = "seat";
    return button;
  }

  // Fetches what the robot offers: a file for the browser, or the frames of a replay.
  async fetch({ what, name, file, address }) {
    if (what === "bag") return save(address, file);
    this.hint(t("record_reading"));
    try {
      const answer = await fetch(address);
      if (!answer.ok) return this.hint(await answer.text());
      if (what === "replay") return this.show(new Replay(name, await answer.json()));
      const link = URL.createObjectURL(await answer.blob());
      save(link, file);
      setTimeout(() => URL.revokeObjectURL(link), SURE);
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

  // Draws the frame that is due at a time [ms].
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

function save(address, file) {
  const link = document.createElement("a");
  Object.assign(link, { href: address, download: file });
  link.click();
}

function megabytes(bytes) {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

// The date and time in the name of a recording, or its name.
function readable(name) {
  const [, date, ...time] = DATE.exec(name) ?? [];
  return date ? `${date} ${time.join(":")}` : name;
}
