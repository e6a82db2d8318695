// SPDX-License-Identifier: Apache-2.0
// Chooses a robot and starts it. The program has all lists; this page sends names from them, and the text of a file.

import { $, element } from "./elements.js";
import { pageAddress, request } from "./requests.js";
import { inWords } from "./sentences.js";
import { LANGUAGES, preferredLanguage, t, useLanguage } from "./texts/texts.js";

const RETRY = 1000; // [ms]
const READY = ["robot", "identify", "measure"]; // for a robot whose file has its servos
let robots = [];
let chosen = ""; // name of a robot
let view = { ports: [], program: null };
let following = false; // this window has started the program, and goes to its page

async function ask(act, fields = {}) {
  try {
    const reply = await request(act, fields);
    $("banner").hidden = true;
    return reply;
  } catch (error) {
    $("banner").textContent = error instanceof TypeError ? t("offline") : error.message;
    $("banner").hidden = false;
    return null;
  }
}

async function follow() {
  for (let seen = ""; ; ) {
    const reply = await ask("show", { seen });
    if (!reply) {
      await new Promise((resolve) => setTimeout(resolve, RETRY));
      continue;
    }
    const ended = view.program && (!reply.program || (reply.program.code !== null && view.program.code === null));
    seen = reply.seen;
    show(reply);
    if (ended) showRobots();
  }
}

function show(reply) {
  view = reply;
  const { program } = view;
  const runs = program && program.code === null;
  $("choose").hidden = runs;
  $("running").hidden = !program;
  if (program) {
    const values = { robot: program.robot, code: program.code };
    $("running-title").textContent = t(runs ? `runs_${program.what}` : program.code ? "failed" : "ended", values);
    $("lines").textContent = program.lines.join("\n") || t("starting");
    const url = program.url && pageAddress(program.url);
    $("open").hidden = !url || !runs;
    $("open").href = url || "#";
    $("end").textContent = t(runs ? "end" : "close");
    if (url && runs && following) {
      following = false;
      location.assign(url);
    }
  }
  const ports = [["", t("port_of_file")], ...view.ports.map((name) => [name, name])];
  if ($("port").options.length !== ports.length) $("port").replaceChildren(...ports.map(([value, text]) => new Option(text, value)));
  showChoice();
}

async function showRobots(name) {
  const reply = await ask("robots");
  if (!reply) return;
  robots = reply.robots;
  if (!robots.some((robot) => robot.name === (name ?? chosen))) name = robots[0]?.name;
  chosen = name ?? chosen;
  $("robots").replaceChildren(...robots.map((robot) => {
    const input = element("input", { type: "radio", name: "robot", value: robot.name, checked: robot.name === chosen });
    input.onchange = () => {
      chosen = robot.name;
      showChoice();
    };
    const facts = t("facts", { legs: robot.legs, mass: robot.mass, servo: robot.servo });
    const text = [element("b", {}, ...breakable(robot.name)), element("small", { textContent: facts })];
    const label = element("label", { className: "choice" }, input, ...text);
    label.insertAdjacentHTML("afterbegin", robot.picture);
    return label;
  }));
  showChoice();
}

function showChoice() {
  const real = document.querySelector("[name=where]:checked").value === "real";
  const robot = robots.find((each) => each.name === chosen);
  $("port").hidden = $("first").hidden = !real;
  for (const what of READY) {
    $(what).hidden = !real;
    $(what).disabled = !robot?.ready;
  }
  $("sim").hidden = real;
  $("not-ready").textContent = real && robot && !robot.ready ? t("not_ready") : "";
  const copied = robot && !robot.own;
  $("hint").textContent = real ? t(copied ? "hint_copy" : "hint_real", { file: `my_${chosen}.yaml` }) : t("hint_sim");
}

// The name of a file, which may be broken where its words end.
function breakable(name) {
  return name.split(/(?<=[_.-])/).flatMap((part) => [part, element("wbr")]);
}

async function start(what) {
  following = true;
  const port = $("port").hidden ? "" : $("port").value;
  const reply = await ask("start", { what, robot: what === "new" ? "" : chosen, port });
  if (reply) show(reply);
}

for (const what of ["sim", "first", "new", ...READY]) $(what).onclick = () => start(what);
$("choose").onchange = showChoice;
$("choose").onsubmit = (event) => event.preventDefault();
$("end").onclick = async () => {
  $("end").disabled = true;
  $("end").textContent = t("ending");
  const reply = await ask("end");
  $("end").disabled = false;
  if (reply) show(reply);
  showRobots();
};
$("file").onchange = async () => {
  const [file] = $("file").files;
  if (!file) return;
  const reply = await ask("upload", { text: await file.text() });
  $("file").value = "";
  $("refusal").textContent = reply?.refusal ? t("refused_file", { reason: inWords(reply.refusal) }) : "";
  if (reply?.name) showRobots(reply.name);
};
$("language").replaceChildren(...Object.entries(LANGUAGES).map(([key, name]) => new Option(name, key)));
$("language").value = preferredLanguage();
$("language").onchange = async () => {
  await useLanguage($("language").value);
  $("port").replaceChildren();
  show(view);
  showRobots();
};
await useLanguage($("language").value);
showRobots();
follow();
