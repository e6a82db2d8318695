// SPDX-License-Identifier: Apache-2.0
// Connects the parts of the page. All values that the page shows are reported by the robot.

import { BodyPose } from "./controls/body_pose.js";
import { VelocityInput } from "./controls/velocity.js";
import { Gamepads, setHeightByDragging, listenToKeys, steerByDragging, swipeAcross, virtualStick } from "./controls/inputs.js";
import { feel, played, shape, sound } from "./controls/feel.js";
import { Connection } from "./connection.js";
import { Charts } from "./plots/charts.js";
import { GaitDiagram } from "./plots/gait_diagram.js";
import { Path } from "./drawing/path.js";
import { Projections } from "./drawing/projections.js";
import { RouteMap } from "./drawing/map.js";
import { Terrain } from "./drawing/terrain.js";
import { Camera } from "./panels/camera.js";
import { DancePanel } from "./panels/dance_panel.js";
import { eventText, LogPanel } from "./panels/log_panel.js";
import { explain, Header, put } from "./panels/header.js";
import { HealthPanel } from "./panels/health_panel.js";
import { MotionPanel } from "./panels/motion_panel.js";
import { PeoplePanel } from "./panels/people_panel.js";
import { PosePanel } from "./panels/pose_panel.js";
import { Recordings } from "./panels/recordings.js";
import { RoutesPanel } from "./panels/routes_panel.js";
import { Settings, KEYS_HELP } from "./panels/settings.js";
import { SettingsPanel } from "./panels/settings_panel.js";
import { DESKTOP, help, Sheets } from "./panels/sheets.js";
import { all, has, learn, load, preferredLanguage, save, t, useLanguage } from "./texts/texts.js";

/** @type {(id: string) => any} */
const $ = (id) => document.getElementById(id);
const UPRIGHT = ["rising", "standing", "walking", "moving"]; // as in tick_plan.py
const NO_MARGIN = ["why_estop", "why_torque_off", "why_unknown"]; // without torque or a known pose the plan is meaningless
const ALARMING = ["warn", "bad"]; // tones of a sentence that begin with a sound
const VIBRATION = 120; // [ms] on STOP

const language = preferredLanguage();
const connection = new Connection();
/** @type {Robot} */
const robot = { status: null, state: null, now: null, shape: null };
const velocity = new VelocityInput(connection);
const body = new BodyPose(connection);
const projections = new Projections(document);
const path = (projections.path = new Path());
/** @type {import("./drawing/scene3d.js").Scene3d | null} */
let scene = null;
let pictures = ["space", "top", "map", "views"]; // that this browser can draw
let wanted3d = load("picture") === "space"; // chosen by the person: slow frames are accepted
let notice = ""; // why the robot stopped while this page was not connected, or a walk ended while another picture was shown

const request = (/** @type {string} */ what) => connection.send("request", { what });
const header = new Header(document, { stand: () => request("stand"), sit: () => request("sit"), arm: () => confirmTorque("arm"), rearm: () => confirmTorque("rearm"), reset_and_arm: () => confirmTorque("reset_and_arm"), recover: () => request("recover"), restart: () => request("restart"), cancel_calibration: () => confirm("calibration", "step_cancel_calibration", () => request("cancel_calibration")), estop: () => actions.estop(), request_control: () => people.button.click(), cancel_request: () => people.button.click(), "": () => {} });
const sheets = new Sheets(document, () => {
  projections.stale = true;
  if (logPanel?.open) logPanel.read();
  dances?.watch();
});
const posePanel = new PosePanel($("pose-rows"), body);
await useLanguage(language, "robot_");

const charts = new Charts($("strips"), $("signal"));
const diagram = new GaitDiagram($("gait-diagram"), $("foot-forces"));
const motionPanel = new MotionPanel(document, connection);
const people = new PeoplePanel(document, connection);
const health = new HealthPanel(document, connection);
var logPanel = new LogPanel(document);
const recordings = new Recordings(document, connection, { shows: showReplay, draws: drawRobot, hint: (text) => header.hint(text) });
const map = new RouteMap($("map-canvas"), projections, (name) => routes.marked(name), () => $("goal-walk").click());
const camera = new Camera(document, connection, projections, map);
const routes = new RoutesPanel(document, connection, map, () => showPicture("map"));
routes.tell = (text, expected) => {
  if (expected) return header.hint(text);
  notice = text;
  update();
};
var dances = new DancePanel(document, connection, body, projections, () => {
  if (!DESKTOP.matches) showPicture("views");
  sheets.open("dance");
  $("dance").scrollIntoView({ block: "nearest" });
});
const settings = new Settings(document, { connection, projections, robot, charts, language });

// --- commands ----------------------------------------------------------------------------------------

let confirmed = () => {};
/**
 * Asks whether to go on.
 * @param {string} kind how the keys of title and text begin
 * @param {string} yes key of the button
 * @param {() => void} act
 * @param {Record<string, string>} [values]
 */
function confirm(kind, yes, act, values) {
  put($("arm-title"), t(`${kind}_title`, values));
  put($("arm-text"), t(`${kind}_text`, values));
  put($("arm-yes"), t(yes));
  confirmed = act;
  $("arm-box").returnValue = "";
  $("arm-box").showModal();
}
const confirmTorque = (/** @type {string} */ what) => confirm("arm", "switch_on", () => request(what));
$("arm-box").onclose = () => $("arm-box").returnValue === "yes" && confirmed();
$("shutdown").onclick = () => confirm("shutdown", "shutdown_yes", () => request("shutdown"));
$("restart-one").onclick = () => {
  const node = $("restart-node").value;
  confirm("restart", "step_restart", () => connection.send("node", { name: node }), { node });
};

/**
 * Returns whether a command has an effect now; otherwise it says why not.
 * @param {string} needs
 */
function allowed(needs) {
  const why = header.why(needs);
  if (why) header.hint(t(...why));
  return !why;
}
velocity.guard = body.guard = () => allowed("drive");

/** @type {(() => void)[]} */
const releases = [];
const releaseInputs = () => {
  for (const end of releases) end();
  velocity.stop();
};
let stopWhy = ""; // key of the text that says why this page itself has stopped the robot; empty: it was a button
/**
 * @param {string} what
 * @param {string} label
 */
function stopWith(what, label, why = "") {
  stopWhy = why;
  if (!request(what)) header.hint(t("not_sent", { what: label }));
  permit(false);
  navigator.vibrate?.(VIBRATION);
  releaseInputs();
}
const SPEEDS = [...all("[data-speed]")].map((button) => Number(button.dataset.speed));
const nextSpeed = (/** @type {number} */ step) => {
  const nearest = SPEEDS.reduce((best, each, i) => (Math.abs(each - velocity.speed) < Math.abs(SPEEDS[best] - velocity.speed) ? i : best), 0);
  setSpeed(SPEEDS[Math.max(0, Math.min(SPEEDS.length - 1, nearest + step))]);
};
const setSpeed = (/** @type {number} */ share) => allowed("robot") && connection.send("speed", { share });
/** @type {Record<string, (value?: any, more?: any) => void>} */
const actions = {
  stop: (why) => stopWith("stop", "STOP", why),
  estop: () => stopWith("estop", "E-STOP"),
  t: () => allowed("robot") && request("stand"),
  g: () => allowed("robot") && request("sit"),
  standOrSit: () => (UPRIGHT.includes(robot.state ?? "") ? actions.g() : actions.t()),
  q: () => nextSpeed(1),
  z: () => nextSpeed(-1),
  r: () => body.set({ z: body.target.z + 0.005 }),
  f: () => body.set({ z: body.target.z - 0.005 }),
  c: () => body.neutral(),
  v: () => showPicture(pictures[(pictures.indexOf(document.body.dataset.picture ?? "") + 1) % pictures.length]),
  p: () => $("seat").click(),
  "?": () => $("help-box").showModal(),
  gait(index) {
    const name = robot.status?.gaits[index];
    if (name && allowed("robot")) connection.send("gait", { name });
  },
  nextGait(step) {
    const gaits = robot.status?.gaits ?? [];
    const index = gaits.indexOf(robot.status?.selected_gait);
    if (gaits.length) actions.gait((index + step + gaits.length) % gaits.length);
  },
  lift: (step) => settings.lift(step),
  dance: () => allowed("torque") && header.hint(t("pad_dance", { name: dances.playLast() || t("pad_no_dance") })),
  tell: (key, values) => header.hint(t(key, values)),
};
dances.poses = async () => {
  const { poseByDragging } = await import("./controls/posing.js");
  for (const name of ["front", "side", "top"]) poseByDragging($(`view-${name}`), name, projections, dances);
  poseByDragging($("space-canvas"), "space", projections, dances, () => scene);
};

releases.push(steerByDragging($("view-top"), projections, velocity), setHeightByDragging($("view-front"), projections, body));
/** @type {Record<string, number[]>} */
const sticks = { left: [0, 0], right: [0, 0] };
const steer = () => velocity.set("sticks", sticks.left[1], -sticks.left[0], -sticks.right[0]);
for (const side of ["left", "right"]) {
  const moved = (/** @type {number} */ right, /** @type {number} */ up) => {
    sticks[side] = [right, up];
    steer();
  };
  const ended = () => {
    sticks[side] = [0, 0];
    if ($("left").dataset.active === undefined && $("right").dataset.active === undefined) velocity.release("sticks");
    else steer();
  };
  releases.push(virtualStick($(side), moved, ended));
}
releases.push(listenToKeys(velocity, actions));
const gamepads = new Gamepads(velocity, body, actions);
releases.push(() => (gamepads.ready = false));
const settingsPanel = new SettingsPanel(document, connection, gamepads);

for (const name of ["stop", "estop"]) $(name).addEventListener("pointerdown", (/** @type {PointerEvent} */ event) => event.button || actions[name]());
for (const name of ["stop", "estop"]) $(name).addEventListener("click", (/** @type {MouseEvent} */ event) => event.detail === 0 && actions[name]());
$("raise").onclick = actions.r;
$("lower").onclick = actions.f;
$("neutral").onclick = actions.c;
$("gait").onchange = () => connection.send("gait", { name: $("gait").value });
for (const button of all("[data-request]")) button.onclick = () => request(button.dataset.request ?? "");
for (const button of all("[data-speed]")) button.onclick = () => setSpeed(Number(button.dataset.speed));
$("log-button").onclick = () => sheets.toggle("log");
$("report").onclick = () => connection.send("query", { what: "report" }) && header.hint(t("report_writing"));
$("settings-button").onclick = () => {
  sheets.open("settings");
  $("settings").scrollIntoView({ block: "nearest" });
};
$("records-button").onclick = () => {
  sheets.open("records");
  $("records").scrollIntoView({ block: "nearest" });
};
$("help").onclick = actions["?"];
$("banner-yes").onclick = () => {
  if (people.request) return people.handOver();
  if (assistant()) return permit(true);
  if (notice) notice = "";
  else askName();
  update();
};
$("banner-no").onclick = () => {
  if (people.request) return people.keep();
  if (assistant()) return permit(false);
  people.rename(people.name(people.me));
  update();
};
let answered = ""; // id of the last request of an assistant that was answered here
// The motion for which an assistant asks this page, if its person may drive.
function assistant() {
  const asked = robot.status?.permission;
  return asked && asked.id !== answered && (people.drives || !people.driver) ? asked : null;
}
/** @param {boolean} allowed */
function permit(allowed) {
  const asked = assistant();
  if (!asked || !connection.send("permission", { request: asked.id, allowed })) return;
  answered = asked.id;
  update();
}
const ARROWS = "↑↖←↙↓↘→↗";
/** @param {{motion: string, values: any}} asked */
function motionAsked({ motion, values }) {
  const { forward = 0, left = 0, degrees = 0, name = "" } = values;
  const eighth = Math.round((4 * Math.atan2(left, forward)) / Math.PI + 8) % 8;
  const way = motion === "turn" ? (degrees < 0 ? "↻" : "↺") : ARROWS[eighth];
  if (motion === "pose") return t("permission_pose", { ...values, up: (100 * values.up).toFixed(1) });
  return t(`permission_${motion}`, { distance: Math.hypot(forward, left).toFixed(2), angle: Math.abs(degrees).toFixed(0), way, name });
}
function askName() {
  sheets.open("drive");
  $("my-name").value = "";
  $("my-name").focus();
}
$("map-in").onclick = () => map.zoom(1 / 1.5);
$("map-out").onclick = () => map.zoom(1.5);
$("map-follow").onclick = () => map.follow();
$("map-draw").onclick = () => {
  map.draws = !map.draws;
  $("map-draw").setAttribute("aria-pressed", String(map.draws));
  if (map.draws) header.hint(t("map_draw_hint"));
};
$("trip-reset").onclick = () => {
  projections.path?.reset();
  projections.stale = true;
};
const tables = help(KEYS_HELP, ["caption_keys", "caption_pad"]);
["help-keys", "help-pad"].forEach((id, i) => $(id).replaceChildren(...tables[i]));

// --- messages of the robot -----------------------------------------------------------------------------------------------

connection.on("welcome", (detail) => {
  people.me = detail.you;
  robot.shape = detail.shape;
  for (const part of [projections, charts, diagram, health]) part.shape(detail.shape);
  settings.welcome(detail);
  restyle();
  put($("robot"), detail.shape.name);
  for (const what of ["urdf", "kept"]) connection.send("query", { what });
});
connection.on("state", (detail) => {
  const margin = NO_MARGIN.includes(detail.now.why) ? null : detail.margin;
  if (!recordings.replay) drawRobot({ ...detail, margin });
  charts.update(detail);
  diagram.update(detail);
  motionPanel.update(detail);
  dances.update(detail);
  body.report(detail.pose);
  robot.gait = detail.gait;
  robot.state = detail.state;
  const now = JSON.stringify(detail.now);
  if (now === robot.said) return;
  robot.said = now;
  const could = !header.why("drive");
  if (ALARMING.includes(detail.now.tone) && !ALARMING.includes(robot.now?.tone)) sound("warn");
  robot.now = detail.now;
  update();
  if (could && header.why("drive")) releaseInputs();
});
connection.on("status", (detail) => status(detail));
connection.on("control", (detail) => {
  const drove = people.drives;
  people.update(detail);
  if (drove && !people.drives) releaseInputs();
  update();
});
connection.on("refused", (detail) => header.hint(detail.text));
connection.on("answer", (detail) => {
  const key = `step_${detail.what}`;
  const what = has(key) ? t(key).replace(" …", "") : detail.what;
  if (!detail.ok) header.hint(detail.values ? t(detail.text, detail.values) : (detail.texts?.[document.documentElement.lang] ?? t("log_refused", { what, text: detail.text })));
  else if (detail.what === "arm") header.hint(t("torque_is_on"));
});
connection.on("stopped", (detail) => {
  releaseInputs();
  sound("stop");
  header.hint(detail.client === people.me && stopWhy ? t(stopWhy) : t(`log_${detail.what}`, { by: detail.by }));
});
connection.on("said", (detail) => {
  learn(detail.list);
  logPanel.show();
  update();
});
connection.on("log", (detail) => {
  const fresh = logPanel.replace(detail.events).filter(({ text }) => ["log_link", "log_silence"].includes(text));
  for (const event of fresh.slice(-1)) notice = eventText(event);
  update();
});
connection.on("event", (detail) => {
  logPanel.add(detail);
  if (/^log_(restart|shutdown|robot)/.test(detail.text)) header.hint(eventText(detail));
  if (/^log_(route|nav2)/.test(detail.text)) sound(detail.text === "log_route_done" ? "done" : "warn");
});
connection.on("terrain", (detail) => {
  projections.terrain = new Terrain(detail.boxes);
  projections.stale = true;
  scene?.setTerrain(projections.terrain);
});
connection.on("urdf", (detail) => show3d(detail.text));
connection.on("invitation", (detail) => settings.invitation(detail));
connection.addEventListener("change", () => {
  if (connection.state !== "open") releaseInputs();
  update();
});

/**
 * Draws a state of the robot, or a frame of a replay, in all pictures.
 * @param {any} state
 */
function drawRobot(state) {
  projections.update(state);
  if (state.joints) projections.path?.update(state, projections.pose);
  scene?.update(state, projections.pose);
  motionPanel.setMargin(state.margin);
}

/**
 * The picture shows a recording from now on, with a path of its own; null: the robot again.
 * @param {import("./drawing/replay.js").Replay | null} replay
 */
function showReplay(replay) {
  if (replay) releaseInputs();
  projections.restart(replay ? new Path() : path);
  if (scene) scene.path = projections.path;
  sheets.show("");
  update();
}

/** @param {(string[] | null)[]} heat */
function showHeat(heat) {
  if (String(heat) === String(projections.heat)) return;
  projections.heat = heat;
  projections.stale = true;
}

/** @param {any} news */
function status(news) {
  robot.status = news;
  velocity.speed = news.speed;
  charts.status(news);
  explain($("shutdown"), news.shutdown ? header.why("seat") : ["shutdown_refused", {}]);
  motionPanel.status(news);
  health.status(news, connection.roundTrip);
  showHeat(health.heat(news));
  settings.status(news);
  settingsPanel.status(news);
  routes.status(news);
  camera.offer(news.camera);
  recordings.status(news);
  sheets.offer("world-pane", news.simulated);
  for (const button of all("[data-speed]")) button.setAttribute("aria-pressed", String(Number(button.dataset.speed) === news.speed));
  put($("trip-text"), t("trip", { value: (projections.path?.distance ?? 0).toFixed(2) }));
  update();
}

// Shows what is known: sentence, next step, grey controls, banner.
function update() {
  header.update({
    link: connection.state,
    lostFor: (performance.now() - connection.lastMessageAt) / 1000,
    now: robot.now,
    me: people.me,
    driver: people.driver,
    driverName: people.driverName,
    asking: people.asking.includes(people.me),
    source: robot.status?.source,
    status: robot.status,
    roundTrip: connection.roundTrip,
    replayed: recordings.replay !== null,
  });
  updateBanner();
}

function banner() {
  if (connection.state === "refused") return { tone: "bad", text: connection.reason || t("banner_refused") };
  if (connection.state !== "open") return { tone: connection.state === "lost" ? "bad" : "calm", text: t(`banner_${connection.state}`) };
  if (people.request) return { tone: "calm", text: t("banner_request", { name: people.request }), yes: t("hand_over"), no: t("keep") };
  const asked = assistant();
  if (asked) return { tone: "warn", text: motionAsked(asked), yes: t("permit"), no: t("deny") };
  if (notice) return { tone: "warn", text: notice, yes: t("ok") };
  if (people.nameless) return { tone: "calm", text: t("banner_name", { name: people.name(people.me) }), yes: t("choose_name"), no: t("keep_name", { name: people.name(people.me) }) };
  return velocity.paused ? { tone: "calm", text: t("banner_paused") } : { text: "" };
}

function updateBanner() {
  const { tone = "", text, yes = "", no = "" } = banner();
  $("banner").hidden = !text;
  $("banner").dataset.tone = tone;
  for (const [id, each] of [["banner-text", text], ["banner-yes", yes], ["banner-no", no]]) {
    put($(id), each);
    $(id).hidden = !each;
  }
  document.body.dataset.link = connection.state;
  document.title = connection.state === "open" ? (robot.shape?.name ?? "hexapod") : `⚠ ${t("link_lost", { age: "" })}`;
}

// --- pictures, theme, focus, frames ----------------------------------------------------------------------------------------

/** @param {string} urdf */
async function show3d(urdf) {
  const { Scene3d } = await import("./drawing/scene3d.js");
  if (!scene) {
    const made = (scene = new Scene3d($("space-canvas"), $("space-note"), giveWay));
    new ResizeObserver(() => (made.stale = true)).observe($("space-canvas"));
    scene.path = projections.path;
    scene.setTerrain(projections.terrain);
  }
  scene.setUrdf(urdf, (robot.shape?.legs ?? []).flatMap((leg) => ["coxa", "femur", "tibia"].map((joint) => `${leg.name}_${joint}_joint`)));
}

/**
 * Another picture replaces that in 3D, which this browser cannot draw, or only slowly.
 * @param {string} key of the text that says so
 */
function giveWay(key) {
  if (key === "no_webgl") {
    pictures = pictures.filter((name) => name !== "space");
    for (const button of all('#pictures [data-picture="space"]')) explain(button, [key, {}]);
  } else if (wanted3d) return;
  if (document.body.dataset.picture !== "space") return;
  showPicture("top");
  header.hint(t(key));
}

/** @param {string} name */
function showPicture(name) {
  document.body.dataset.picture = name;
  for (const button of all("#pictures button")) button.setAttribute("aria-pressed", String(button.dataset.picture === name));
  sheets.show("");
  projections.stale = map.stale = true;
  routes.watch(name === "map");
  if (scene) scene.stale = true;
}
for (const button of all("#pictures button"))
  button.onclick = () => {
    const chosen = button.dataset.picture ?? "";
    wanted3d = chosen === "space";
    save("picture", chosen);
    showPicture(chosen);
  };
swipeAcross($("stage"), (step) => {
  const index = pictures.indexOf(document.body.dataset.picture ?? "") + step;
  if (pictures[index]) showPicture(pictures[index]);
});

function restyle() {
  const style = getComputedStyle(document.documentElement);
  for (const part of [projections, charts, scene]) part?.restyle();
  map.stale = true;
  diagram.restyle((name) => style.getPropertyValue(`--${name}`).trim());
}
settings.onTheme = restyle;
settings.hint = (/** @type {string} */ text) => header.hint(text);

/** @param {boolean} paused */
function setPaused(paused) {
  if (paused) releaseInputs();
  velocity.pause(paused);
  updateBanner();
}
addEventListener("blur", () => setPaused(true));
addEventListener("focus", () => setPaused(document.hidden));
document.addEventListener("visibilitychange", () => setPaused(document.hidden || !document.hasFocus()));
addEventListener("pagehide", releaseInputs);

/** @param {number} now */
function frame(now) {
  requestAnimationFrame(frame); // first, so that drawing continues after an error below
  if (!velocity.paused && connection.state === "open") gamepads.poll();
  recordings.draw(now);
  projections.draw(now);
  map.draw();
  settingsPanel.draw();
  camera.draw(now);
  if (charts.draw(now)) diagram.draw(charts.pausedAt ?? now);
  scene?.draw(now);
}

if (location.protocol === "https:") navigator.serviceWorker?.register("./sw.js").catch(() => {}); // of an untrusted certificate
settings.setTheme();
showPicture(load("picture") ?? "space");
people.show();
update();
logPanel.show();
connection.open();
requestAnimationFrame(frame);
setInterval(update, 1000);
Object.assign(globalThis, { hexapod: { connection, camera, feel, played, shape, settings: settingsPanel, map, dances, pads: gamepads, velocity, body, projections, charts, motionPanel, posePanel, robot, people, path, header, sheets, recordings, log: logPanel, get scene() { return scene; } } });
