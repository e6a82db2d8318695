// SPDX-License-Identifier: Apache-2.0
// WebSocket connection to the robot: hello with the token from the URL, numbered messages, reconnection, round-trip time.

import { load, save } from "./texts/texts.js";

const VERSION = 2;
const MAX_SILENCE = 2000; // [ms] without a message, after which the connection counts as lost
const HEARTBEAT_PERIOD = 500; // [ms]
const RETRY_DELAYS = [300, 600, 1200, 2000]; // [ms]
/** @typedef {"connecting" | "open" | "lost" | "refused"} LinkState */
/** @type {Record<number, LinkState>} */
const FINAL_CODES = { 4401: "refused", 4426: "refused" }; // close codes after which the page does not reconnect

export class Connection extends EventTarget {
  constructor() {
    super();
    /** @type {LinkState} */
    this.state = "connecting";
    /** @type {number | null} */
    this.roundTrip = null; // [ms]
    this.lastMessageAt = 0; // [ms]
    this.lastNumber = -1;
    this.sequence = 0;
    this.attempts = 0;
    this.reason = "";
    this.sentHeartbeats = new Map();
    this.token = decodeURIComponent(location.hash.slice(1));
    this.key = load("key") ?? "";
    setInterval(() => this.sendHeartbeat(), HEARTBEAT_PERIOD);
    addEventListener("online", () => this.state === "lost" && this.open());
    addEventListener("hashchange", () => {
      this.token = decodeURIComponent(location.hash.slice(1));
      if (this.state !== "open") this.open();
    });
    document.addEventListener("visibilitychange", () => !document.hidden && this.state === "lost" && this.open());
  }

  open() {
    clearTimeout(this.timer);
    this.socket?.close();
    const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/socket`);
    this.socket = socket;
    this.sequence = 0;
    this.lastNumber = -1;
    this.lastMessageAt = performance.now();
    socket.onopen = () => this.send("hello", { token: this.token, key: this.key, name: myName() });
    socket.onmessage = (event) => socket === this.socket && this.receive(event.data);
    socket.onclose = (event) => socket === this.socket && this.closed(event);
  }

  /** @param {string} text */
  receive(text) {
    const message = JSON.parse(text);
    this.lastMessageAt = performance.now();
    if (message.v !== VERSION || message.n <= this.lastNumber) return;
    this.lastNumber = message.n;
    if (message.t === "welcome") {
      this.attempts = 0;
      this.key = message.key;
      this.token = "";
      save("key", message.key); // without it, the client cannot reconnect after the page was closed;
      if (location.hash) history.replaceState(null, "", location.pathname); // hides the token, which the key replaces
      this.setState("open");
    } else if (message.t === "refused") {
      this.reason = message.text;
    } else if (message.t === "heartbeat") {
      const sent = this.sentHeartbeats.get(message.echo);
      if (sent !== undefined) this.roundTrip = performance.now() - sent;
      this.sentHeartbeats.clear();
    }
    this.dispatchEvent(new CustomEvent(message.t, { detail: message }));
  }

  /** @param {CloseEvent} event */
  closed(event) {
    if (FINAL_CODES[event.code]) return this.setState(FINAL_CODES[event.code]);
    this.setState("lost");
    this.timer = setTimeout(() => this.open(), RETRY_DELAYS[Math.min(this.attempts++, RETRY_DELAYS.length - 1)]);
  }

  /**
   * Calls a function with every message of a kind.
   * @param {string} kind
   * @param {(message: any) => void} take
   */
  on(kind, take) {
    this.addEventListener(kind, (event) => take(/** @type {CustomEvent} */ (event).detail));
  }

  /** @param {LinkState} state */
  setState(state) {
    if (state === this.state) return;
    this.state = state;
    this.dispatchEvent(new Event("change"));
  }

  sendHeartbeat() {
    if (this.state !== "open") return;
    if (performance.now() - this.lastMessageAt > MAX_SILENCE) {
      this.setState("lost"); // an unplugged cable does not close the socket
      this.open();
      return;
    }
    const n = this.send("heartbeat", { echo: this.sequence });
    if (n) this.sentHeartbeats.set(n - 1, performance.now());
  }

  /**
   * Returns the number of the message, 0 if it was not sent.
   * @param {string} kind
   * @param {Record<string, unknown>} [fields]
   * @returns {number}
   */
  send(kind, fields = {}) {
    if (this.socket?.readyState !== WebSocket.OPEN || (this.state !== "open" && kind !== "hello")) return 0;
    this.socket.send(JSON.stringify({ v: VERSION, n: this.sequence, t: kind, ...fields }));
    this.dispatchEvent(new CustomEvent("sent", { detail: { kind } }));
    return ++this.sequence;
  }
}

// The name that this person has chosen, or that of the device.
export function myName() {
  return load("name") || deviceName();
}

export function deviceName() {
  const agent = navigator.userAgent;
  const system = /iPhone|iPad|Android|Windows|Mac|Linux/.exec(agent)?.[0] ?? "browser";
  return /Mobi/.test(agent) ? `${system} phone` : system;
}
