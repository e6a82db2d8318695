// SPDX-License-Identifier: Apache-2.0
// Who drives and who watches: the list of people, the button for control, and the banner with a request.

import { deviceName } from "../connection.js";
import { load, save, t } from "../texts/texts.js";

/** @typedef {{id: number, name: string}} Person */

export class PeoplePanel {
  me = 0;
  driver = 0;
  /** @type {Person[]} */
  people = [];
  /** @type {number[]} */
  asking = [];

  /**
   * @param {Document} root
   * @param {import("../connection.js").Connection} connection
   */
  constructor(root, connection) {
    this.connection = connection;
    this.button = /** @type {HTMLElement} */ (root.getElementById("seat"));
    this.list = /** @type {HTMLElement} */ (root.getElementById("people"));
    this.named = /** @type {HTMLInputElement} */ (root.getElementById("my-name"));
    this.named.onchange = () => this.rename(this.named.value);
    this.button.onclick = () => connection.send("control", { act: this.drives || this.asking.includes(this.me) ? "leave" : "take" });
  }

  get drives() {
    return this.driver === this.me && this.me !== 0;
  }

  get driverName() {
    return this.name(this.driver);
  }

  // The name of the first person who requests control from this page; empty without a request.
  get request() {
    return this.drives && this.asking.length ? this.name(this.asking[0]) : "";
  }

  // Whether this person should choose a name: another one has that of the same device.
  get nameless() {
    return !load("name") && this.me !== 0 && ![deviceName(), ""].includes(this.name(this.me));
  }

  /** @param {string} name */
  rename(name) {
    save("name", name.trim());
    this.connection.send("name", { name: name.trim() || deviceName() });
  }

  /** @param {number} id */
  name(id) {
    return this.people.find((person) => person.id === id)?.name ?? "";
  }

  /** @param {{driver: number, people: Person[], asking: number[]}} seats */
  update({ driver, people, asking }) {
    Object.assign(this, { driver, people, asking });
    this.show();
  }

  handOver() {
    this.connection.send("control", { act: "give", to: this.asking[0] });
  }

  keep() {
    this.connection.send("control", { act: "keep" });
  }

  show() {
    const waiting = this.asking.includes(this.me);
    this.button.textContent = t(this.drives ? "release_control" : waiting ? "cancel_request" : this.driver ? "request_control" : "take_control");
    if (document.activeElement !== this.named) this.named.value = this.name(this.me);
    this.list.replaceChildren(...this.people.map((person) => this.line(person)));
  }

  /** @param {Person} person */
  line({ id, name }) {
    const item = document.createElement("li");
    const notes = [id === this.me && t("you"), id === this.driver ? t("drives") : this.asking.includes(id) && t("requests")].filter(Boolean);
    item.append(`${name}${notes.length ? ` – ${notes.join(", ")}` : ""}`);
    if (this.drives && id !== this.me) {
      const give = document.createElement("button");
      give.type = "button";
      give.textContent = t("hand_over");
      give.onclick = () => this.connection.send("control", { act: "give", to: id });
      item.append(give);
    }
    return item;
  }
}
