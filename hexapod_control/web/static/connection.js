// The connection: hello with the token of the address, numbered messages, reconnection, and how late answers are.

const VERSION = 1;
const SILENT = 2000; // [ms] without any message: the connection is lost
const BEAT = 500; // [ms]
const RETRY = [300, 600, 1200, 2000]; // [ms]
const FINAL = { 4401: "refused", 4426: "refused" }; // close codes after which trying again is no use

export class Link extends EventTarget {
  constructor() {
    super();
    this.state = "connecting";
    this.delay = null; // [ms] of a round trip
    this.tries = 0;
    this.reason = "";
    this.beats = new Map();
    this.token = decodeURIComponent(location.hash.slice(1));
    this.key = load();
    setInterval(() => this.beat(), BEAT);
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
    this.seen = -1;
    this.heard = performance.now();
    socket.onopen = () => this.send("hello", { token: this.token, key: this.key, name: device() });
    socket.onmessage = (event) => socket === this.socket && this.take(event.data);
    socket.onclose = (event) => socket === this.socket && this.closed(event);
  }

  take(text) {
    const message = JSON.parse(text);
    this.heard = performance.now();
    if (message.v !== VERSION || message.n <= this.seen) return;
    this.seen = message.n;
    if (message.t === "welcome") {
      this.tries = 0;
      this.key = message.key;
      this.token = "";
      save(message.key);
      if (location.hash) history.replaceState(null, "", location.pathname); // the token leaves the address bar
      this.become("open");
    } else if (message.t === "refused") {
      this.reason = message.text;
    } else if (message.t === "beat") {
      const sent = this.beats.get(message.echo);
      if (sent !== undefined) this.delay = performance.now() - sent;
      this.beats.clear();
    }
    this.dispatchEvent(new CustomEvent(message.t, { detail: message }));
  }

  closed(event) {
    if (FINAL[event.code]) return this.become(FINAL[event.code]);
    this.become("lost");
    this.timer = setTimeout(() => this.open(), RETRY[Math.min(this.tries++, RETRY.length - 1)]);
  }

  become(state) {
    if (state === this.state) return;
    this.state = state;
    this.dispatchEvent(new Event("change"));
  }

  beat() {
    if (this.state !== "open") return;
    if (performance.now() - this.heard > SILENT) {
      this.become("lost"); // a pulled cable is not a close
      this.open();
      return;
    }
    const n = this.send("beat", { echo: this.sequence });
    if (n) this.beats.set(n - 1, performance.now());
  }

  // Returns the number of the message, 0 if it was not sent.
  send(kind, fields = {}) {
    if (this.socket?.readyState !== WebSocket.OPEN || (this.state !== "open" && kind !== "hello")) return 0;
    this.socket.send(JSON.stringify({ v: VERSION, n: this.sequence, t: kind, ...fields }));
    return ++this.sequence;
  }
}

function device() {
  const agent = navigator.userAgent;
  const system = /iPhone|iPad|Android|Windows|Mac|Linux/.exec(agent)?.[0] ?? "browser";
  return /Mobi/.test(agent) ? `${system} phone` : system;
}

function load() {
  try {
    return localStorage.getItem("key") ?? "";
  } catch {
    return "";
  }
}

function save(key) {
  try {
    localStorage.setItem("key", key);
  } catch {
    // without storage the page works until it is closed
  }
}
