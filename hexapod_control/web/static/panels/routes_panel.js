// SPDX-License-Identifier: Apache-2.0
// Going to places: the goal that is marked on the map, places and routes with a name, and routes that are taught by driving.

import { t } from "../texts/texts.js";
import { length } from "../drawing/map.js";
import { eventText } from "./log_panel.js";
import { put } from "./header.js";
import { deleteButton, itemButton } from "./item_buttons.js";

const PERIOD = 300; // [ms] between two requests of the map at least
const PATIENCE = 3000; // [ms] after which the map is requested again
const NAMELESS = "⚑"; // how the robot calls a goal without a name
const ARRIVED = ["log_route_done", "log_route_beside", "log_route_about"];
/** @typedef {{text: string, values: Record<string, any>, goal: number[][], at: number}} WalkEnd how a walk ended */

export class RoutesPanel {
  /** @type {number | null} */
  lesson = null; // [m] since it began
  learned = false; // what is marked is the route of the last lesson
  name = ""; // of the place that is marked
  hasNav2 = false; // Nav2 runs
  walking = ""; // name of the goal of the present walk
  /** @type {WalkEnd | null} */
  end = null; // of the last walk, until the person acts
  closed = 0; // time of the end that was closed last
  tell = (/** @type {string} */ _text, /** @type {boolean} */ _expected) => {}; // says how a walk ended while the map is not visible

  /**
   * @param {Document} root
   * @param {import("../connection.js").Connection} connection
   * @param {import("../drawing/map.js").RouteMap} map
   * @param {() => void} show shows the map
   */
  constructor(root, connection, map, show) {
    this.connection = connection;
    this.map = map;
    this.showMap = show;
    /** @type {(id: string) => any} */
    const find = (id) => root.getElementById(id);
    this.goal = find("goal");
    this.text = find("goal-text");
    this.buttons = ["goal-walk", "goal-save", "goal-drop"].map(find);
    this.form = find("goal-form");
    this.field = find("goal-name");
    this.list = find("route-list");
    this.teach = find("teach");
    find("goal-walk").onclick = () => this.walk(map.draft, this.name);
    this.nav2 = find("goal-nav2");
    this.nav2.onclick = () => this.walk(map.draft.slice(-1), this.name, "navigate");
    find("goal-drop").onclick = () => map.mark([]); // closes what is said there, too
    find("goal-save").onclick = () => this.askName();
    this.form.onsubmit = (/** @type {Event} */ event) => (event.preventDefault(), this.save());
    find("home").onclick = () => this.walk([[0, 0]], "⌂");
    this.teach.onclick = () => this.toggleLesson();
    connection.on("routes", (detail) => this.take(detail.list));
    connection.on("route", (detail) => this.follow(detail));
    connection.on("map", (detail) => this.see(detail));
    connection.on("lesson", (detail) => this.learn(detail.points));
    this.say();
  }

  /** @param {any} status */
  status({ nav2, lesson }) {
    this.lesson = lesson;
    this.teach.setAttribute("aria-pressed", String(lesson !== null));
    put(this.teach, lesson === null ? t("teach") : t("teach_end", { value: lesson.toFixed(1) }));
    if (nav2 === this.hasNav2) return;
    this.hasNav2 = nav2;
    this.say();
  }

  /**
   * The map is visible or not: it is requested while it is.
   * @param {boolean} visible
   */
  watch(visible) {
    this.visible = visible;
    clearTimeout(this.timer);
    if (visible) this.ask(0);
  }

  /** @param {number} delay */
  ask(delay) {
    clearTimeout(this.timer);
    if (!this.visible) return;
    this.timer = setTimeout(() => {
      this.connection.send("query", { what: "map" });
      this.ask(PATIENCE);
    }, delay);
  }

  /** @param {any} detail */
  see({ points, at, lidar }) {
    this.lidar = lidar;
    if (at !== this.seenAt) this.map.see(points);
    this.seenAt = at;
    this.say();
    this.ask(PERIOD);
  }

  // The robot learns the way that it is driven, with what its lidar sees.
  toggleLesson() {
    const ends = this.lesson !== null;
    this.expects = ends;
    this.connection.send("route", { act: ends ? "taught" : "teach" });
    if (!ends) this.showMap();
  }

  /** @param {number[][]} points */
  learn(points) {
    if (!this.expects || points.length < 2) return;
    this.expects = false;
    this.map.mark(points);
    this.learned = true;
    this.showMap();
    this.askName();
  }

  /**
   * @param {number[][]} points
   * @param {string} name
   */
  walk(points, name, act = "walk") {
    if (!points.length) return;
    const sent = this.connection.send("route", { act, name, points: points.map(rounded) });
    if (sent) this.map.mark([]);
    else this.missed({ text: "not_sent", values: { what: t("walk_there") }, goal: points, at: 1 }, name);
    this.showMap();
  }

  askName() {
    const taken = new Set(this.map.places.map((place) => place.name));
    const kind = this.map.draft.length > 1 ? "route_number" : "place_number";
    for (let number = 1; !this.field.value || taken.has(this.field.value); number++) this.field.value = t(kind, { number });
    this.form.hidden = false;
    this.say();
    this.field.select();
    this.field.focus();
  }

  save() {
    this.connection.send("route", { act: this.learned ? "keep" : "save", name: this.field.value, points: this.map.draft.map(rounded) });
    this.map.mark([]);
  }

  /**
   * The person has marked something else on the map.
   * @param {string} name
   */
  marked(name) {
    this.name = name;
    this.closed = this.end?.at ?? this.closed;
    this.end = null;
    this.learned = false;
    this.form.hidden = true;
    this.field.value = "";
    this.say();
  }

  /** @param {{name: string, points: number[][], ended: WalkEnd | null}} route */
  follow({ name, points, ended }) {
    const walked = this.walking;
    this.walking = points.length ? name : "";
    if (points.length) this.end = null;
    else if (ended && ended.at !== this.closed) this.missed(ended, name);
    else if (walked && !ended) this.missed({ text: "route_gone", values: { name: walked }, goal: this.map.route.slice(-1), at: 1 }, walked);
    this.map.route = points;
    this.map.stale = true;
    this.say();
  }

  /**
   * Says how a walk ended until the person acts; a goal that was not reached is marked again.
   * @param {WalkEnd} end
   * @param {string} name of the goal
   */
  missed(end, name) {
    if (!this.map.draft.length && !ARRIVED.includes(end.text)) this.map.mark(end.goal, name === NAMELESS ? "" : name);
    this.end = end;
    this.say();
    if (!this.visible) this.tell(eventText(end), ARRIVED.includes(end.text) || end.text === "log_route_ended");
  }

  // Says below the map what is marked, or what can be done.
  say() {
    const { draft, robot } = this.map;
    const marked = draft.length > 0;
    const asks = !this.form.hidden;
    const way = draft.length > 1 ? length(draft) : marked ? length([robot, draft[0]]) : 0;
    for (const button of this.buttons) button.hidden = !marked || (asks && button.id !== "goal-drop");
    this.buttons[1].hidden ||= this.name !== "";
    this.buttons[2].hidden &&= !this.end;
    this.nav2.hidden = this.buttons[0].hidden || !this.hasNav2;
    const blind = this.lidar === false ? ` ${t("map_blind")}` : "";
    const idle = this.walking ? t("map_walking", { name: this.walking }) : t("map_tap") + blind;
    this.text.hidden = asks;
    const told = this.end && eventText(this.end);
    put(this.text, told ?? (marked ? `${this.name} ${t("trip", { value: way.toFixed(1) })}` : idle));
    this.goal.dataset.told = told ? (ARRIVED.includes(this.end?.text ?? "") ? "good" : "warn") : "";
  }

  /** @param {{name: string, points: number[][]}[]} routes */
  take(routes) {
    this.map.places = routes;
    this.map.stale = true;
    this.list.replaceChildren(...routes.map((route) => this.line(route)));
    if (!routes.length) this.list.append(Object.assign(document.createElement("li"), { textContent: t("no_routes") }));
  }

  /** @param {{name: string, points: number[][]}} route */
  line({ name, points }) {
    const item = document.createElement("li");
    const title = Object.assign(document.createElement("b"), { textContent: name });
    const note = Object.assign(document.createElement("span"), { textContent: points.length > 1 ? t("trip", { value: length(points).toFixed(1) }) : "" });
    const buttons = Object.assign(document.createElement("div"), { className: "row" });
    buttons.append(itemButton("walk_route", name, "drive", () => this.walk(points, name)));
    if (points.length > 1) buttons.append(itemButton("walk_back", name, "drive", () => this.walk([...points].reverse(), name)));
    buttons.append(deleteButton(name, () => this.connection.send("route", { act: "delete", name })));
    item.append(title, note, buttons);
    return item;
  }
}

/** @param {number[]} point */
function rounded(point) {
  return point.slice(0, 2).map((value) => Math.round(100 * value) / 100);
}
