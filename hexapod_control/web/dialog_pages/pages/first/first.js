// SPDX-License-Identifier: Apache-2.0
// The first evening on a page. The program asks; this page shows its question and sends what is answered.

import { $, element } from "./elements.js";
import { Follower } from "./follower.js";
import { draw, inWords } from "./sentences.js";
import { LANGUAGES, preferredLanguage, t, useLanguage } from "./texts/texts.js";

const BAD = ["not_yet", "stopped"]; // kinds of sentences that report a failure
let view = null; // what the program sent last
let answered = 0; // number of the question that was answered last

const follower = new Follower((reply) => {
  if (view && reply.order < view.order) return; // a reply that arrived out of order
  view = reply;
  show();
}, (error) => banner(error instanceof TypeError ? t("offline") : error.message, false));

function show() {
  const { stage, stages, number, prompt } = view;
  const busy = !prompt || number === answered || view.stopping;
  $("robot").textContent = view.robot;
  document.title = `${view.robot}: ${t("title")}`;
  const done = stages.filter((each) => each.result).length;
  $("place").textContent = t("place", { done, count: stages.length });
  $("bar").value = done / stages.length;
  $("dialog").hidden = Boolean(view.end);
  $("end").hidden = !view.end;
  $("stop").disabled = Boolean(view.end); // the program has ended, with the torque off
  banner(view.leads || view.end ? "" : t("other_leads"), true);
  showStages();
  showRecord();
  if (view.end) return showEnd();
  if (stage) {
    $("stage").textContent = inWords(stage.title);
    $("text").textContent = inWords(stage.text);
    $("text").hidden = !view.begins; // it introduces the stage
    $("otherwise").textContent = inWords(stage.otherwise);
  }
  $("otherwise").hidden = $("wrong").childElementCount > 0; // which ends with it
  showPictures();
  $("question").textContent = view.stopping ? t("stopping") : busy ? t("busy") : inWords(prompt.text);
  $("question").toggleAttribute("data-busy", busy);
  showAnswers(busy || !view.leads);
}

function showPictures() {
  const pictures = view.pictures.join("");
  if ($("pictures").dataset.shown === pictures + document.documentElement.lang) return;
  draw($("pictures"), pictures);
  $("pictures").dataset.shown = pictures + document.documentElement.lang;
}

function showAnswers(off) {
  const { choices, typed } = off ? { choices: [], typed: "" } : view.prompt;
  $("usual").replaceChildren(...choices.map(({ answer, label }, index) => {
    const button = element("button", { type: "button", value: answer, textContent: inWords(label), className: index ? "" : "strong" });
    button.onclick = () => send(answer);
    return button;
  }));
  $("joint").hidden = !["joint", "signed joint"].includes(typed);
  $("sign").hidden = typed !== "signed joint";
  if (!$("joint").hidden) showJoints();
  $("typed").hidden = off || !(typed === "text" || $("type").getAttribute("aria-expanded") === "true");
  if ($("answer").dataset.number !== String(view.number)) $("answer").value = "";
  $("answer").dataset.number = view.number ?? 0;
  for (const id of ["back", "help", "type", "quit"]) $(id).disabled = off;
}

function showJoints() {
  fill($("leg"), view.legs.map((leg) => [leg, t(leg)]));
  fill($("part"), view.joints.map((joint) => [joint, joint]));
  const turns = $("part").value === "coxa" ? ["turn_left", "turn_right"] : ["turn_up", "turn_down"];
  fill($("sign"), [["+", `+ ${t(turns[0])}`], ["-", `− ${t(turns[1])}`]]);
}

function fill(list, pairs) {
  const chosen = list.value;
  list.replaceChildren(...pairs.map(([value, text]) => new Option(text, value)));
  if (pairs.some(([value]) => value === chosen)) list.value = chosen;
}

function showStages() {
  $("stages").replaceChildren(...view.stages.map(({ key, title, minutes, result }) => {
    const mark = element("i", { textContent: result ? "✓" : "", ariaHidden: "true" });
    const text = element("small", { textContent: result ? inWords(result) : t("minutes", { minutes }) });
    const row = element("button", { type: "button", disabled: !view.begins || !view.leads }, mark, inWords(title), text);
    row.onclick = () => send(key);
    if (key === view.stage?.key) row.setAttribute("aria-current", "step");
    return element("li", {}, row);
  }));
}

// The output since the last answer is shown at the question; the record has all output.
function showRecord() {
  const last = view.record.findLastIndex(([kind]) => kind === "answered");
  const said = view.record.slice(last + 1).filter(([kind]) => kind === "said").map(([, text]) => text);
  const lines = (texts) => texts.map((text) => element("p", { textContent: inWords(text) }));
  $("wrong").replaceChildren(...lines(said.filter(({ kind }) => BAD.includes(kind))));
  $("said").replaceChildren(...lines(said.filter(({ kind }) => !BAD.includes(kind))));
  $("record").replaceChildren(...view.record.map(([kind, text]) => {
    const line = element("li", { textContent: kind === "answered" ? `→ ${text || "Enter"}` : inWords(text) });
    line.dataset.kind = kind;
    return line;
  }));
}

function showEnd() {
  $("end-title").textContent = inWords(view.end);
  $("report").textContent = view.report ? t("report", { file: view.report }) : "";
  $("command").textContent = view.command;
}

function banner(text, leadable) {
  $("banner").hidden = !text;
  $("banner-text").textContent = text;
  $("lead").hidden = !leadable;
}

function send(text) {
  answered = view.number;
  follower.act("answer", { number: view.number, text });
  show();
}

$("form").onsubmit = (event) => {
  event.preventDefault();
  if (!$("answer").disabled && view?.prompt) send($("answer").value);
};
$("answer-joint").onclick = () => send([$("leg").value, $("part").value, view.prompt.typed === "signed joint" ? $("sign").value : ""].join(" ").trim());
$("part").onchange = showJoints;
$("back").onclick = () => send("back");
$("help").onclick = () => send("help");
$("quit").onclick = () => send("quit");
$("type").onclick = () => {
  $("type").setAttribute("aria-expanded", String($("type").getAttribute("aria-expanded") !== "true"));
  show();
  $("answer").focus();
};
$("stop").onclick = () => follower.act("stop");
$("lead").onclick = () => follower.act("lead");
addEventListener("keydown", ({ key }) => key === "Escape" && follower.act("stop"));
$("language").replaceChildren(...Object.entries(LANGUAGES).map(([key, name]) => new Option(name, key)));
$("language").value = preferredLanguage();
$("language").onchange = async () => {
  await useLanguage($("language").value);
  if (view) show();
};
await useLanguage($("language").value);
follower.start();
