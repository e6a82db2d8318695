// SPDX-License-Identifier: Apache-2.0
// One question after the other; the drawing follows what is typed. The server keeps the answers.

import { $, element } from "./elements.js";
import { pageAddress, request } from "./requests.js";
import { draw, inWords } from "./sentences.js";
import { LANGUAGES, preferredLanguage, t, useLanguage } from "./texts/texts.js";

const TYPING_PAUSE = 120; // [ms] without a key, after which the drawing follows
const MANY = 9; // choices that are shown at once; more become a list
const KEEP = "!"; // suffix that confirms an implausible answer
let shown = {}; // what the server sent last
let changed = false; // since the question was shown
let count = 0; // of the newest request: replies to older ones are ignored
let timer = 0;
let assumed = new Set(); // keys of questions about numbers whose proposal was taken without a measurement
let checked = null; // what `hexapod check` has said

async function ask(act, fields = {}) {
  const number = ++count;
  try {
    const reply = await request(act, fields);
    return number === count ? reply : null;
  } catch (error) {
    const lost = error instanceof TypeError; // of fetch, if there is no server
    hint(lost ? t("offline") : error.message, true);
    return null;
  }
}

async function move(act, fields) {
  clearTimeout(timer);
  checked = null;
  const reply = await ask(act, fields);
  if (!reply) return;
  if (reply.count) show(reply);
  else refuse(reply);
}

function show(view) {
  shown = view;
  changed = false;
  const asked = view.key !== undefined;
  $("robot").textContent = view.robot;
  $("place").textContent = asked ? t("place", view) : t("all_answered");
  $("bar").value = (view.number - 1) / view.count;
  $("form").hidden = !asked;
  $("result").hidden = asked;
  $("overview").replaceChildren(...view.overview.map((row, index) => overviewRow(view, row, index + 1)));
  if (asked) showQuestion(view);
  else showResult(view);
}

function overviewRow(view, { label, answer }, number) {
  const row = element("button", { type: "button" }, element("span", { textContent: inWords(label) }), element("b", { textContent: t(answer) }));
  row.onclick = () => move("go", { number });
  if (number === view.number) row.setAttribute("aria-current", "step");
  return element("li", {}, row);
}

function showQuestion(view) {
  $("prompt").textContent = `${inWords(view.prompt)}.`;
  drawQuestion(view.drawing);
  $("fields").replaceChildren(...(view.choices.length ? choices(view) : view.fields.map(field)));
  $("back").disabled = view.number === 1;
  $("undo").disabled = !view.undo;
  $("assume").hidden = true;
  refuse(view);
  const first = $("fields").querySelector("input:checked, select, input");
  if (matchMedia("(pointer: coarse)").matches) $("prompt").focus(); // the keyboard of a phone would hide the drawing
  else first.focus();
  if (first.select) first.select();
}

function drawQuestion(svg) {
  draw($("drawing"), svg);
  $("drawing").querySelector("title").textContent = inWords(shown.prompt);
}

function field(part, index) {
  const input = element("input", { id: `part-${index}`, value: part.value, inputMode: part.signed ? "text" : "decimal" });
  const unit = element("select", { className: "unit", ariaLabel: t("unit_of", { name: t(part.name) }) }, ...part.units.map((name) => new Option(name)));
  unit.value = part.unit;
  const label = element("label", { htmlFor: input.id, textContent: t(part.name) });
  return element("div", { className: "field" }, label, element("div", {}, input, unit));
}

function choices(view) {
  if (view.choices.length > MANY) {
    const list = element("select", { ariaLabel: inWords(view.label) }, ...view.choices.map((word) => new Option(t(word), word)));
    list.value = view.proposal;
    return [list];
  }
  return view.choices.map((word) => {
    const button = element("input", { type: "radio", name: "choice", value: word, checked: word === view.proposal });
    return element("label", { className: "choice" }, button, t(word));
  });
}

// Whether Next would take numbers that were not measured.
function unmeasured() {
  return shown.fields.length > 0 && !changed && !shown.overview[shown.number - 1].answer;
}

// The answer as it would be typed in the terminal; empty for the proposal.
function typed() {
  if (!changed) return "";
  const chosen = $("fields").querySelector("input[type=radio]:checked, select:not(.unit)");
  if (chosen) return chosen.value;
  return [...$("fields").querySelectorAll(".field")].map((each) => {
    const [value, unit] = [each.querySelector("input").value.trim(), each.querySelector("select").value];
    return /[a-z°"]/i.test(value) ? value : `${value} ${unit}`; // a unit behind the number counts
  }).join(" ");
}

function hint(text, refused = false) {
  $("hint").textContent = text;
  $("hint").toggleAttribute("data-refused", refused);
}

function refuse(reply) {
  const text = reply.refusal ? t(reply.doubtful ? "doubtful" : "impossible", { reason: inWords(reply.refusal) }) : "";
  hint(text.replace("?.", "?"), Boolean(reply.refusal));
  $("keep").hidden = !reply.doubtful;
  for (const input of $("fields").querySelectorAll("input, select")) input.setAttribute("aria-invalid", String(Boolean(reply.refusal)));
}

async function follow() {
  const reply = await ask("type", { key: shown.key, text: typed() });
  if (!reply) return;
  if (reply.count) return show(reply);
  refuse(reply);
  if (reply.drawing) drawQuestion(reply.drawing);
}

async function showResult(view) {
  $("file").textContent = view.file;
  draw($("picture"), view.picture);
  $("command").textContent = view.command;
  $("assumed").hidden = !assumed.size;
  $("assumed").textContent = t("assumed", { count: assumed.size });
  $("done").focus();
  if (!checked) {
    $("verdict").textContent = t("checking");
    $("remarks").replaceChildren();
    checked = await ask("check");
  }
  if (checked) showVerdict(checked);
}

function showVerdict(reply) {
  const wrong = reply.remarks.filter((remark) => ["problem", "wrong"].includes(remark.seriousness)).length;
  $("verdict").textContent = reply.error || (wrong ? t("wrong", { count: wrong }) : t("fine"));
  $("remarks").replaceChildren(...reply.remarks.map((remark) => {
    const change = remark.change ? ` ${t("change", { what: remark.change })}` : "";
    const row = element("li", {}, element("b", { textContent: t(`is_${remark.seriousness}`) }), ": ", element("span", { lang: "en", textContent: `${remark.text}.` }), change);
    row.dataset.seriousness = remark.seriousness;
    return row;
  }));
}

$("form").onsubmit = (event) => {
  event.preventDefault();
  if (unmeasured() && !shown.refusal) {
    $("assume").hidden = false;
    return hint(t("measure_first"));
  }
  if (changed) assumed.delete(shown.key);
  move("answer", { key: shown.key, text: typed() });
};
$("assume").onclick = () => {
  assumed.add(shown.key);
  move("answer", { key: shown.key, text: "" });
};
$("fields").oninput = () => {
  changed = true;
  $("assume").hidden = true;
  clearTimeout(timer);
  timer = setTimeout(follow, TYPING_PAUSE);
};
$("keep").onclick = () => move("answer", { key: shown.key, text: `${typed() || shown.proposal} ${KEEP}` });
$("back").onclick = () => move("back");
$("undo").onclick = () => move("undo");
for (const act of ["sim", "first"])
  $(act).onclick = async () => {
    $("gone-on").textContent = t("starting");
    const reply = await ask(act);
    $("gone-on").textContent = reply?.error ?? "";
    if (reply?.url) location.assign(pageAddress(reply.url));
  };
$("copy").onclick = async () => {
  await navigator.clipboard.writeText(shown.command);
  $("copy").textContent = t("copied");
};
$("language").replaceChildren(...Object.entries(LANGUAGES).map(([key, name]) => new Option(name, key)));
$("language").value = preferredLanguage();
$("language").onchange = async () => {
  await useLanguage($("language").value);
  if (shown.count) show(shown);
};
await useLanguage($("language").value);
move("show");
