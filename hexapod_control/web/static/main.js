// The page: puts the parts together. Everything that is drawn comes from the robot, nothing is assumed.

import { Charts } from "./charts.js";
import { BodyPose, Drive } from "./velocity.js";
import { Gamepads, heightView, keys, steerView, stick } from "./inputs.js";
import { Link } from "./connection.js";
import { Moves } from "./motion_panel.js";
import { Views } from "./projections.js";

const $ = (id) => document.getElementById(id);
const TABS = ["views", "space", "moves", "charts", "setup"];
const UPRIGHT = ["rising", "standing", "walking", "moving"];
const TONES = { standing: "good", walking: "good", moving: "good", fault: "bad", unknown: "warn" };

const link = new Link();
const drive = new Drive(link);
const body = new BodyPose(link);
const views = new Views(document);
const charts = new Charts($("charts"));
const moves = new Moves(document, link);
const robot = { me: 0, driver: 0, people: [], asking: [], status: null, state: null, stopped: "" };
let space = null;
let shape = null;

// --- what a person asks for ----------------------------------------------------------------------------------------

const ask = (what) => link.send("ask", { what });
const ends = [];
const letGo = () => {
  for (const end of ends) end();
  drive.stop();
};
const acts = {
  stop() {
    ask("stop");
    letGo();
  },
  estop() {
    ask("estop");
    letGo();
  },
  t: () => ask("stand"),
  g: () => ask("sit"),
  upOrDown: () => ask(UPRIGHT.includes(robot.state) ? "sit" : "stand"),
  q: () => setSpeed(Number($("speed").value) + 5),
  z: () => setSpeed(Number($("speed").value) - 5),
  r: () => body.set({ z: body.wish.z + 0.005 }),
  f: () => body.set({ z: body.wish.z - 0.005 }),
  c: () => body.neutral(),
  v: () => show(TABS[(TABS.indexOf(document.body.dataset.tab) + 1) % TABS.length]),
  p: () => $("seat").click(),
  "?": () => $("help").click(),
  gait(index) {
    const name = robot.status?.gaits[index];
    if (name) link.send("gait", { name });
  },
  nextGait(step) {
    const gaits = robot.status?.gaits ?? [];
    const index = gaits.indexOf(robot.status?.gait);
    if (gaits.length) acts.gait((index + step + gaits.length) % gaits.length);
  },
  lift(step) {
    $("lift").value = Number($("lift").value) + 100 * step;
    $("lift").dispatchEvent(new Event("input"));
  },
  say,
};

ends.push(steerView($("view-top"), views, drive), heightView($("view-front"), views, body));
const sticks = { left: [0, 0], right: [0, 0] };
const steer = () => drive.set("sticks", sticks.left[1], -sticks.left[0], -sticks.right[0]);
for (const side of ["left", "right"]) {
  const moved = (right, up) => {
    sticks[side] = [right, up];
    steer();
  };
  const ended = () => {
    sticks[side] = [0, 0];
    if ($("left").dataset.active === undefined && $("right").dataset.active === undefined) drive.release("sticks");
    else steer();
  };
  ends.push(stick($(side), moved, ended));
}
ends.push(keys(drive, acts));
const gamepads = new Gamepads(drive, body, acts);
ends.push(() => (gamepads.ready = false));

for (const name of ["stop", "estop"]) $(name).addEventListener("pointerdown", (event) => event.button || acts[name]());
for (const name of ["stop", "estop"]) $(name).addEventListener("click", (event) => event.detail === 0 && acts[name]());
$("stand").onclick = acts.t;
$("sit").onclick = acts.g;
$("raise").onclick = acts.r;
$("lower").onclick = acts.f;
$("neutral").onclick = acts.c;
$("gait").onchange = () => link.send("gait", { name: $("gait").value });
$("seat").onclick = () => link.send("seat", { act: robot.driver === robot.me || robot.asking.includes(robot.me) ? "leave" : "take" });
$("reset").onclick = () => ask("reset_world");
$("world").onchange = () => link.send("world", { world: $("world").value });
$("help").onclick = () => $("help-box").showModal();
$("share").onclick = $("share-too").onclick = () => link.send("wish", { what: "invite" });
$("banner-act").onclick = () => $("arm-box").showModal();
$("arm-box").onclose = () => $("arm-box").returnValue === "yes" && ask("rearm");
for (const button of document.querySelectorAll(".push")) button.onclick = () => push(Number(button.dataset.push));

function push(degrees) {
  const angle = (degrees * Math.PI) / 180 + (views.pose?.odom[2] ?? 0);
  const force = Number($("force").value);
  link.send("push", { x: force * Math.cos(angle), y: force * Math.sin(angle) });
}

function setSpeed(percent) {
  $("speed").value = percent;
  $("speed").dispatchEvent(new Event("input"));
}

// A slider: its text while it moves, its effect at most ten times a second.
function slider(id, text, effect) {
  let timer = null;
  $(id).addEventListener("input", () => {
    const value = Number($(id).value);
    document.querySelector(`output[for="${id}"]`).textContent = text(value);
    clearTimeout(timer);
    timer = setTimeout(() => effect(value), 100);
  });
}
slider("speed", (v) => `${v} %`, (v) => (drive.speed = v / 100));
slider("lift", (v) => `${v} %`, (v) => link.send("lift", { share: v / 100 }));
slider("friction", (v) => v.toFixed(1), (v) => link.send("world", { friction: v }));
slider("payload", (v) => `${v} kg`, (v) => link.send("world", { payload: v }));
slider("force", (v) => `${v} N`, () => {});
for (const name of ["roll", "pitch", "yaw"]) slider(`pose-${name}`, (v) => `${v}°`, (v) => body.set({ [name]: (v * Math.PI) / 180 }));
body.listeners.push(() => {
  $("height").textContent = `${body.height > 0 ? "+" : ""}${Math.round(1000 * body.height)} mm`;
  for (const name of ["roll", "pitch", "yaw"]) {
    const degrees = Math.round((body.wish[name] * 180) / Math.PI);
    if (document.activeElement !== $(`pose-${name}`)) $(`pose-${name}`).value = degrees;
    document.querySelector(`output[for="pose-${name}"]`).textContent = `${degrees}°`;
  }
});

// --- what the robot says -----------------------------------------------------------------------------------------------

link.addEventListener("welcome", ({ detail }) => {
  robot.me = detail.you;
  shape = detail.shape;
  views.shape(shape);
  charts.shape(shape);
  $("world").replaceChildren(...detail.worlds.map((name) => new Option(name, name)));
  $("robot").textContent = shape.name;
  document.title = shape.name;
  if (space) link.send("wish", { what: "urdf" });
});
link.addEventListener("state", ({ detail }) => {
  robot.silent = detail.silent;
  views.take(detail);
  charts.take(detail);
  moves.take(detail);
  space?.take(detail);
  if (detail.state !== robot.state || detail.gait !== robot.gait) {
    [robot.state, robot.gait] = [detail.state, detail.gait];
    if (!UPRIGHT.includes(detail.state)) body.wish = { x: 0, y: 0, z: 0, roll: 0, pitch: 0, yaw: 0 };
    chips();
  }
});
link.addEventListener("status", ({ detail }) => status(detail));
link.addEventListener("seats", ({ detail }) => {
  const mine = robot.driver === robot.me;
  Object.assign(robot, { driver: detail.driver, people: detail.people, asking: detail.asking });
  if (mine && robot.driver !== robot.me) letGo();
  seats();
});
link.addEventListener("refused", ({ detail }) => say(detail.text));
link.addEventListener("answer", ({ detail }) => {
  if (!detail.ok) say(`${detail.what}: ${detail.text}`);
  else if (detail.what === "arm") say("Torque is on");
});
link.addEventListener("stopped", ({ detail }) => {
  letGo();
  say(`${detail.what === "estop" ? "E-STOP" : "STOP"} by ${detail.by}`);
});
link.addEventListener("urdf", ({ detail }) => {
  const names = shape.legs.flatMap((leg) => ["coxa", "femur", "tibia"].map((joint) => `${leg.name}_${joint}_joint`));
  space?.urdf(detail.text, names);
});
link.addEventListener("invitation", ({ detail }) => invitation(detail));
link.addEventListener("change", () => {
  if (link.state !== "open") letGo();
  chips();
  banner();
});

function status(news) {
  robot.status = news;
  charts.status(news);
  moves.status(news);
  const gaits = $("gait");
  if (gaits.options.length !== news.gaits.length) gaits.replaceChildren(...news.gaits.map((name) => new Option(name, name)));
  if (document.activeElement !== gaits) gaits.value = news.gait;
  $("setup-world").hidden = !news.simulated;
  for (const [id, value] of Object.entries(news.world)) {
    if (document.activeElement === $(id)) continue;
    $(id).value = value;
    const output = document.querySelector(`output[for="${id}"]`);
    if (output) output.textContent = id === "payload" ? `${value} kg` : Number(value).toFixed(1);
  }
  chips();
  banner();
}

function chip(id, text, tone = "") {
  if ($(id).textContent !== text) $(id).textContent = text;
  $(id).dataset.tone = tone;
}

function chips() {
  const open = link.state === "open";
  chip("chip-state", open ? robot.state || "no planner" : "offline", open ? (TONES[robot.state] ?? "") : "bad");
  chip("chip-gait", (open && robot.status?.gait) || "–");
  chip("chip-link", open && link.delay !== null ? `${Math.round(link.delay)} ms` : "–");
  const mine = robot.driver === robot.me && robot.me;
  const who = robot.people.find((person) => person.id === robot.driver)?.name;
  const source = robot.status?.source;
  const other = source && source !== "none" && source !== "tablet" ? ` · ${source}` : "";
  chip("chip-driver", !open ? "–" : (mine ? "you drive" : who ? `${who} drives` : "wheel is free") + other, mine ? "mine" : "");
  const up = UPRIGHT.includes(robot.state);
  $("stand").classList.toggle("strong", open && !up);
}

function seats() {
  const mine = robot.driver === robot.me;
  const waiting = robot.asking.includes(robot.me);
  $("seat").textContent = mine ? "Leave the wheel" : waiting ? "Do not wait" : robot.driver ? "Ask for the wheel" : "Take the wheel";
  $("people").replaceChildren(
    ...robot.people.map((person) => {
      const item = document.createElement("li");
      const asks = robot.asking.includes(person.id);
      item.append(`${person.name}${person.id === robot.me ? " (you)" : ""}${person.id === robot.driver ? " – drives" : asks ? " – asks for the wheel" : ""}`);
      if (mine && person.id !== robot.me) {
        const give = document.createElement("button");
        give.type = "button";
        give.textContent = "Hand over";
        give.onclick = () => link.send("seat", { act: "give", to: person.id });
        item.append(give);
      }
      return item;
    }),
  );
  if (mine && robot.asking.length) {
    const name = robot.people.find((person) => person.id === robot.asking[0])?.name;
    say(`${name} asks for the wheel: hand it over under Setup`);
  }
  chips();
}

const LOST = {
  connecting: ["calm", "Connecting to the robot …"],
  lost: ["bad", "Connection lost. The robot stops by itself. Trying again …"],
};

function banner() {
  let [tone, text, act] = ["", "", ""];
  if (link.state === "refused") [tone, text] = ["bad", link.reason || "This page was refused."];
  else if (LOST[link.state]) [tone, text] = LOST[link.state];
  else if (robot.status?.estop) [tone, text, act] = ["bad", "E-STOP is latched, the torque is off.", "Switch on …"];
  else if (robot.silent) [tone, text] = ["warn", "The robot is silent: no joint states. Is its hardware node running?"];
  else if (drive.paused) [tone, text] = ["calm", "Paused: this window is not in front."];
  $("banner").hidden = !text;
  $("banner").dataset.tone = tone;
  if ($("banner-text").textContent !== text) $("banner-text").textContent = text;
  $("banner-act").hidden = !act;
  $("banner-act").textContent = act;
  document.body.dataset.link = link.state;
  document.title = link.state === "open" ? (shape?.name ?? "hexapod") : "⚠ connection lost";
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
    ? "Good for one person. Whoever opens it watches, and can ask for the wheel; STOP works for everybody."
    : "Works on this machine only; start with --lan to invite phones on the network.";
  $("share-box").showModal();
}

let toastTimer = null;
function say(text) {
  $("toast").textContent = text;
  $("toast").dataset.on = "";
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => delete $("toast").dataset.on, 4500);
}

// --- tabs, theme, focus, frames ----------------------------------------------------------------------------------------

async function show(tab) {
  document.body.dataset.tab = tab;
  for (const button of document.querySelectorAll("#tabs button")) button.setAttribute("aria-selected", String(button.dataset.tab === tab));
  views.stale = true;
  if (tab !== "space" || space) return;
  const { Space } = await import("./scene3d.js");
  space ??= new Space($("space-canvas"), $("space-note"));
  new ResizeObserver(() => (space.stale = true)).observe($("space-canvas"));
  link.send("wish", { what: "urdf" });
}
for (const button of document.querySelectorAll("#tabs button")) button.onclick = () => show(button.dataset.tab);

function theme(name) {
  document.documentElement.dataset.theme = name;
  views.restyle();
  charts.restyle();
  space?.restyle();
}
const dark = matchMedia("(prefers-color-scheme: dark)");
let chosen = "";
dark.addEventListener("change", () => chosen || theme(dark.matches ? "dark" : "light"));
$("theme").onclick = $("theme-too").onclick = () => theme((chosen = document.documentElement.dataset.theme === "dark" ? "light" : "dark"));

function pause(paused) {
  if (paused) letGo();
  drive.pause(paused);
  banner();
}
addEventListener("blur", () => pause(true));
addEventListener("focus", () => pause(document.hidden));
document.addEventListener("visibilitychange", () => pause(document.hidden || !document.hasFocus()));
addEventListener("pagehide", letGo);

function frame(now) {
  requestAnimationFrame(frame); // first: whatever goes wrong below, the next frame comes
  if (!drive.paused && link.state === "open") gamepads.poll();
  views.draw(now);
  charts.draw(now);
  space?.draw(now);
}

theme(dark.matches ? "dark" : "light");
show("views");
banner();
link.open();
requestAnimationFrame(frame);
setInterval(chips, 1000);
setInterval(banner, 500);
window.hexapod = { link, drive, body, views, charts, moves, robot, get space() { return space; } };
