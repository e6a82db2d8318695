// SPDX-License-Identifier: Apache-2.0
// The log: what nodes have reported and why the robot stopped, with a counter of new lines.

import { load, said, save, t } from "../texts/texts.js";

const MOST = 200; // events
const STOPPED = ["log_link", "log_silence"]; // the robot has stopped by itself

/** @typedef {{id: number, at: number, node: string, level: number, text: string, values: Record<string, any> | null, count: number}} LogEvent */

export class LogPanel {
  /** @param {Document} root */
  constructor(root) {
    /** @type {(id: string) => any} */
    const find = (id) => root.getElementById(id);
    this.button = find("log-button");
    this.count = find("log-count");
    this.list = find("log-list");
    this.choice = find("log-node");
    /** @type {Map<number, LogEvent>} */
    this.events = new Map(); // by id
    this.heard = false;
    this.choice.onchange = () => this.show();
  }

  /**
   * Takes all events of the robot; returns those that this page has not had before.
   * @param {LogEvent[]} events
   */
  replace(events) {
    const known = this.heard ? this.newest : Infinity; // the first ones are older than this page
    this.heard = true;
    this.events = new Map(events.map((event) => [event.id, event]));
    if (this.newest < this.seen) this.seen = 0; // the node has started again
    this.show();
    return events.filter((event) => event.id > known);
  }

  /** @param {LogEvent} event */
  add(event) {
    this.events.set(event.id, event);
    if (this.events.size > MOST) this.events.delete(Math.min(...this.events.keys()));
    if (this.open) this.read();
    this.show();
  }

  get newest() {
    return Math.max(0, ...this.events.keys());
  }

  get seen() {
    return Number(load("log_seen") ?? 0);
  }

  set seen(id) {
    save("log_seen", String(id));
  }

  get open() {
    return this.list.offsetParent !== null;
  }

  read() {
    this.seen = this.newest;
    this.show();
  }

  // The number on the button counts what needs action: errors, and stops that were not ordered.
  show() {
    const fresh = [...this.events.values()].filter((event) => event.id > this.seen && (event.level > 1 || STOPPED.includes(event.text))).length;
    this.count.hidden = !fresh;
    this.count.textContent = String(fresh);
    this.button.setAttribute("aria-label", fresh ? t("log_of", { count: fresh }) : t("log"));
    const nodes = [...new Set([...this.events.values()].map((event) => event.node))].sort();
    if (String(nodes) !== this.nodes) {
      const chosen = this.choice.value;
      this.nodes = String(nodes);
      this.choice.replaceChildren(new Option(t("all_nodes"), ""), ...nodes.map((name) => new Option(name, name)));
      this.choice.value = nodes.includes(chosen) ? chosen : "";
    }
    if (!this.open) return;
    const wanted = [...this.events.values()].filter((event) => !this.choice.value || event.node === this.choice.value);
    this.list.replaceChildren(...wanted.reverse().map(line));
    if (!wanted.length) this.list.append(Object.assign(document.createElement("li"), { textContent: t("log_empty") }));
  }
}

/**
 * The text of an event in the language of the page.
 * @param {Pick<LogEvent, "text" | "values">} event
 */
export function eventText({ text, values }) {
  return values ? t(text, { ...values, reason: values.why && t(values.why, values) }) : said(text);
}

/** @param {LogEvent} event */
function line(event) {
  const item = document.createElement("li");
  item.dataset.level = String(event.level);
  const time = document.createElement("time");
  time.textContent = new Date(1000 * event.at).toLocaleTimeString(document.documentElement.lang);
  const node = document.createElement("b");
  node.textContent = event.node;
  const text = document.createElement("span");
  text.textContent = eventText(event) + (event.count > 1 ? ` ×${event.count}` : "");
  item.append(time, node, text);
  return item;
}
