// Connects the parts of the page. All values that the page shows are reported by the robot.

import { Charts } from "./drawing/charts.js";
import { BodyPose, VelocityInput } from "./velocity.js";
import { Gamepads, setHeightByDragging, listenToKeys, steerByDragging, virtualStick } from "./inputs.js";
import { Connection } from "./connection.js";
import { MotionPanel } from "./motion_panel.js";
import { Projections } from "./drawing/projections.js";

const $ = (id) => document.getElementById(id);
const TABS = ["views", "space", "moves", "charts", "setup"];
const UPRIGHT = ["rising", "standing", "walking", "moving"];
const TONES = { standing: "good", walking: "good", moving: "good", fault: "bad", unknown: "warn" };

const connection = new Connection();
const velocity = new VelocityInput(connection);
const body = new BodyPose(connection);
const projections = new Projections(document);
const charts = new Charts($("charts"));
const motionPanel = new MotionPanel(document, connection);
const robot = { me: 0, driver: 0, people: [], asking: [], status: null, state: null, stopped: "" };
let scene = null;
let shape = null;

// --- commands ----------------------------------------------------------------------------------------

const request = (what) => connection.send("ask", { what });
const requestStop = (what, label) => request(what) || showToast(`Not connected: ${label} was not sent`);
const releases = [];
const releaseInputs = () => {
  for (const end of releases) end();
  velocity.stop();
};
const actions = {
  stop() {
    requestStop("stop", "STOP");
    releaseInputs();
  },
  estop() {
    requestStop("estop", "E-STOP");
    releaseInputs();
  },
  t: () => request("stand"),
  g: () => request("sit"),
  standOrSit: () => request(UPRIGHT.includes(robot.state) ? "sit" : "stand"),
  q: () => setSpeed(Number($("speed").value) + 5),
  z: () => setSpeed(Number($("speed").value) - 5),
  r: () => body.set({ z: body.target.z + 0.005 }),
  f: () => body.set({ z: body.target.z - 0.005 }),
  c: () => body.neutral(),
  v: () => showTab(TABS[(TABS.indexOf(document.body.dataset.tab) + 1) % TABS.length]),
  p: () => $("seat").click(),
  "?": () => $("help").click(),
  gait(index) {
    const name = robot.status?.gaits[index];
    if (name) connection.send("gait", { name });
  },
  nextGait(step) {
    const gaits = robot.status?.gaits ?? [];
    const index = gaits.indexOf(robot.status?.selected_gait);
    if (gaits.length) actions.gait((index + step + gaits.length) % gaits.length);
  },
  lift(step) {
    $("lift").value = Number($("lift").value) + 100 * step;
    $("lift").dispatchEvent(new Event("input"));
  },
  showToast,
};

releases.push(steerByDragging($("view-top"), projections, velocity), setHeightByDragging($("view-front"), projections, body));
const sticks = { left: [0, 0], right: [0, 0] };
const steer = () => velocity.set("sticks", sticks.left[1], -sticks.left[0], -sticks.right[0]);
for (const side of ["left", "right"]) {
  const moved = (right, up) => {
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

for (const name of ["stop", "estop"]) $(name).addEventListener("pointerdown", (event) => event.button || actions[name]());
for (const name of ["stop", "estop"]) $(name).addEventListener("click", (event) => event.detail === 0 && actions[name]());
$("stand").onclick = actions.t;
$("sit").onclick = actions.g;
$("raise").onclick = actions.r;
$("lower").onclick = actions.f;
$("neutral").onclick = actions.c;
$("gait").onchange = () => connection.send("gait", { name: $("gait").value });
$("seat").onclick = () => connection.send("seat", { act: robot.driver === robot.me || robot.asking.includes(robot.me) ? "leave" : "take" });
$("leg").onchange = updateLeg;
$("lose-leg").onclick = () => connection.send("leg", { name: $("leg").value, lost: !isLost($("leg").value) });
$("reset").onclick = () => request("reset_world");
$("world").onchange = () => connection.send("world", { world: $("world").value });
$("help").onclick = () => $("help-box").showModal();
$("share").onclick = $("share-too").onclick = () => connection.send("wish", { what: "invite" });
$("banner-act").onclick = () => $("arm-box").showModal();
$("arm-box").onclose = () => $("arm-box").returnValue === "yes" && request("rearm");
for (const button of document.querySelectorAll(".push")) button.onclick = () => push(Number(button.dataset.push));

function push(degrees) {
  const angle = (degrees * Math.PI) / 180 + (projections.pose?.odom[2] ?? 0);
  const force = Number($("force").value);
  connection.send("push", { x: force * Math.cos(angle), y: force * Math.sin(angle) });
}

function setSpeed(percent) {
  $("speed").value = percent;
  $("speed").dispatchEvent(new Event("input"));
}

// Connects a slider: its text changes while it moves; its effect follows 100 ms after the last change.
function slider(id, text, effect) {
  let timer = null;
  $(id).addEventListener("input", () => {
    const value = Number($(id).value);
    document.querySelector(`output[for="${id}"]`).textContent = text(value);
    clearTimeout(timer);
    timer = setTimeout(() => effect(value), 100);
  });
}
slider("speed", (v) => `${v} %`, (v) => (velocity.speed = v / 100));
slider("lift", (v) => `${v} %`, (v) => connection.send("lift", { share: v / 100 }));
slider("friction", (v) => v.toFixed(1), (v) => connection.send("world", { friction: v }));
slider("payload", (v) => `${v} kg`, (v) => connection.send("world", { payload: v }));
slider("force", (v) => `${v} N`, () => {});
for (const name of ["roll", "pitch", "yaw"]) slider(`pose-${name}`, (v) => `${v}°`, (v) => body.set({ [name]: (v * Math.PI) / 180 }));
body.listeners.push(() => {
  $("height").textContent = `${body.height > 0 ? "+" : ""}${Math.round(1000 * body.height)} mm`;
  for (const name of ["roll", "pitch", "yaw"]) {
    const degrees = Math.round((body.target[name] * 180) / Math.PI);
    if (document.activeElement !== $(`pose-${name}`)) $(`pose-${name}`).value = degrees;
    document.querySelector(`output[for="pose-${name}"]`).textContent = `${degrees}°`;
  }
});

// --- messages of the robot -----------------------------------------------------------------------------------------------

connection.addEventListener("welcome", ({ detail }) => {
  robot.me = detail.you;
  shape = detail.shape;
  projections.shape(shape);
  charts.shape(shape);
  $("world").replaceChildren(...detail.worlds.map((name) => new Option(name, name)));
  $("robot").textContent = shape.name;
  document.title = shape.name;
  $("leg").replaceChildren(...shape.legs.map((leg) => new Option(leg.name.replaceAll("_", " "), leg.name)));
  if (scene) connection.send("wish", { what: "urdf" });
});
connection.addEventListener("state", ({ detail }) => {
  robot.silent = detail.silent;
  projections.update(detail);
  charts.update(detail);
  motionPanel.update(detail);
  scene?.update(detail);
  if (detail.state !== robot.state || detail.gait !== robot.gait) {
    [robot.state, robot.gait] = [detail.state, detail.gait];
    if (!UPRIGHT.includes(detail.state)) body.target = { x: 0, y: 0, z: 0, roll: 0, pitch: 0, yaw: 0 };
    updateChips();
  }
});
connection.addEventListener("status", ({ detail }) => status(detail));
connection.addEventListener("seats", ({ detail }) => {
  const driving = robot.driver === robot.me;
  Object.assign(robot, { driver: detail.driver, people: detail.people, asking: detail.asking });
  if (driving && robot.driver !== robot.me) releaseInputs();
  updateDriver();
});
connection.addEventListener("refused", ({ detail }) => showToast(detail.text));
connection.addEventListener("answer", ({ detail }) => {
  if (!detail.ok) showToast(`${detail.what}: ${detail.text}`);
  else if (detail.what === "arm") showToast("Torque is on");
});
connection.addEventListener("stopped", ({ detail }) => {
  releaseInputs();
  showToast(`${detail.what === "estop" ? "E-STOP" : "STOP"} by ${detail.by}`);
});
connection.addEventListener("urdf", ({ detail }) => {
  const names = shape.legs.flatMap((leg) => ["coxa", "femur", "tibia"].map((joint) => `${leg.name}_${joint}_joint`));
  scene?.setUrdf(detail.text, names);
});
connection.addEventListener("invitation", ({ detail }) => invitation(detail));
connection.addEventListener("change", () => {
  if (connection.state !== "open") releaseInputs();
  updateChips();
  updateBanner();
});

function status(news) {
  robot.status = news;
  charts.status(news);
  motionPanel.status(news);
  const gaits = $("gait");
  if (String([...gaits.options].map((option) => option.value)) !== String(news.gaits)) gaits.replaceChildren(...news.gaits.map((name) => new Option(name, name)));
  if (document.activeElement !== gaits) gaits.value = news.selected_gait;
  $("setup-world").hidden = !news.simulated;
  updateLeg();
  for (const [id, value] of Object.entries(news.world)) {
    if (document.activeElement === $(id)) continue;
    $(id).value = value;
    const output = document.querySelector(`output[for="${id}"]`);
    if (output) output.textContent = id === "payload" ? `${value} kg` : Number(value).toFixed(1);
  }
  updateChips();
  updateBanner();
}

function isLost(leg) {
  return robot.status?.lost_legs.includes(leg) ?? false;
}

function updateLeg() {
  $("lose-leg").textContent = isLost($("leg").value) ? "Return" : "Leg lost";
}

function setChip(id, text, tone = "") {
  if ($(id).textContent !== text) $(id).textContent = text;
  $(id).dataset.tone = tone;
}

function updateChips() {
  const open = connection.state === "open";
  setChip("chip-state", open ? robot.state || "no planner" : "offline", open ? (TONES[robot.state] ?? "") : "bad");
  setChip("chip-gait", (open && robot.status?.gait) || "–");
  setChip("chip-link", open && connection.roundTrip !== null ? `${Math.round(connection.roundTrip)} ms` : "–");
  const driving = robot.driver === robot.me && robot.me;
  const driver = robot.people.find((person) => person.id === robot.driver)?.name;
  const source = robot.status?.source;
  const other = source && source !== "none" && source !== "tablet" ? ` · ${source}` : "";
  setChip("chip-driver", !open ? "–" : (driving ? "you drive" : driver ? `${driver} drives` : "no driver") + other, driving ? "mine" : "");
  const up = UPRIGHT.includes(robot.state);
  $("stand").classList.toggle("strong", open && !up);
}

function updateDriver() {
  const driving = robot.driver === robot.me;
  const waiting = robot.asking.includes(robot.me);
  $("seat").textContent = driving ? "Release control" : waiting ? "Cancel request" : robot.driver ? "Request control" : "Take control";
  $("people").replaceChildren(
    ...robot.people.map((person) => {
      const item = document.createElement("li");
      const asks = robot.asking.includes(person.id);
      item.append(`${person.name}${person.id === robot.me ? " (you)" : ""}${person.id === robot.driver ? " – drives" : asks ? " – requests control" : ""}`);
      if (driving && person.id !== robot.me) {
        const give = document.createElement("button");
        give.type = "button";
        give.textContent = "Hand over";
        give.onclick = () => connection.send("seat", { act: "give", to: person.id });
        item.append(give);
      }
      return item;
    }),
  );
  if (driving && robot.asking.length) {
    const name = robot.people.find((person) => person.id === robot.asking[0])?.name;
    showToast(`${name} requests control: hand it over under Setup`);
  }
  updateChips();
}

const CONNECTION_TEXTS = {
  connecting: ["calm", "Connecting to the robot …"],
  lost: ["bad", "Connection lost. The robot stops by itself. Reconnecting …"],
};

function updateBanner() {
  let [tone, text, act] = ["", "", ""];
  if (connection.state === "refused") [tone, text] = ["bad", connection.reason || "This page was refused."];
  else if (CONNECTION_TEXTS[connection.state]) [tone, text] = CONNECTION_TEXTS[connection.state];
  else if (robot.status?.estop) [tone, text, act] = ["bad", "E-STOP is latched, the torque is off.", "Switch on …"];
  else if (robot.silent) [tone, text] = ["warn", "No joint states are received. Is the hardware node running?"];
  else if (velocity.paused) [tone, text] = ["calm", "Paused: this window is not in front."];
  $("banner").hidden = !text;
  $("banner").dataset.tone = tone;
  if ($("banner-text").textContent !== text) $("banner-text").textContent = text;
  $("banner-act").hidden = !act;
  $("banner-act").textContent = act;
  document.body.dataset.link = connection.state;
  document.title = connection.state === "open" ? (shape?.name ?? "hexapod") : "⚠ connection lost";
}

function invitation({ url, rows, once }) {
  const c = $("share-code").getContext("2d");
  const size = Math.floor(240 / (rows.length + 4));
  const margin = Math.floor((240 - size * rows.length) / 2);
  c.fillStyle = "#fff";
  c.fillRect(0, 0, 240, 240);
  c.fillStyle = "#000";
  rows.forEach((row, y) => [...row].forEach((bit, x) => bit === "1" && c.fillRect(margin + x * size, margin + y * size, size, size)));
  $("share-url").textContent = url;
  $("share-note").textContent = once
    ? "Valid for one person, who can watch, request control and stop the robot."
    : "Works on this machine only; start with --lan to invite phones on the network.";
  $("share-box").showModal();
}

let toastTimer = null;
function showToast(text) {
  $("toast").textContent = text;
  $("toast").dataset.on = "";
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => delete $("toast").dataset.on, 4500);
}

// --- tabs, theme, focus, frames ----------------------------------------------------------------------------------------

async function showTab(tab) {
  document.body.dataset.tab = tab;
  for (const button of document.querySelectorAll("#tabs button")) button.setAttribute("aria-selected", String(button.dataset.tab === tab));
  projections.stale = true;
  if (tab !== "space" || scene) return;
  const { Scene3d } = await import("./drawing/scene3d.js");
  scene ??= new Scene3d($("space-canvas"), $("space-note"));
  new ResizeObserver(() => (scene.stale = true)).observe($("space-canvas"));
  connection.send("wish", { what: "urdf" });
}
for (const button of document.querySelectorAll("#tabs button")) button.onclick = () => showTab(button.dataset.tab);

function setTheme(name) {
  document.documentElement.dataset.theme = name;
  projections.restyle();
  charts.restyle();
  scene?.restyle();
}
const dark = matchMedia("(prefers-color-scheme: dark)");
let chosen = "";
dark.addEventListener("change", () => chosen || setTheme(dark.matches ? "dark" : "light"));
$("theme").onclick = $("theme-too").onclick = () => setTheme((chosen = document.documentElement.dataset.theme === "dark" ? "light" : "dark"));

function setPaused(paused) {
  if (paused) releaseInputs();
  velocity.pause(paused);
  updateBanner();
}
addEventListener("blur", () => setPaused(true));
addEventListener("focus", () => setPaused(document.hidden));
document.addEventListener("visibilitychange", () => setPaused(document.hidden || !document.hasFocus()));
addEventListener("pagehide", releaseInputs);

function frame(now) {
  requestAnimationFrame(frame); // first, so that drawing continues after an error below
  if (!velocity.paused && connection.state === "open") gamepads.poll();
  projections.draw(now);
  charts.draw(now);
  scene?.draw(now);
}

setTheme(dark.matches ? "dark" : "light");
showTab("views");
updateBanner();
connection.open();
requestAnimationFrame(frame);
setInterval(updateChips, 1000);
setInterval(updateBanner, 500);
window.hexapod = { connection, velocity, body, projections, charts, motionPanel, robot, get scene() { return scene; } };
