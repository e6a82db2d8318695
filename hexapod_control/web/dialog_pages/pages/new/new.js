// One question after the other; the drawing follows what is typed. The server keeps the answers.

import { $, element } from "./elements.js";
import { request } from "./requests.js";

const TYPING_PAUSE = 120; // [ms] without a key, after which the drawing follows
const MANY = 9; // choices that are shown at once; more become a list
const KEEP = "!"; // behind an implausible answer: it is meant
let shown = {}; // what the server sent last
let changed = false; // since the question was shown
let count = 0; // of requests: a reply to an older one is left out
let timer = 0;

async function ask(act, fields = {}) {
  const number = ++count;
  try {
    const reply = await request(act, fields);
    return number === count ? reply : null;
  } catch (error) {
    const lost = error instanceof TypeError; // of fetch, if there is no server
    hint(lost ? "No connection: is `hexapod new --page` still running? Your answers are kept." : error.message, true);
    return null;
  }
}

async function move(act, fields) {
  clearTimeout(timer);
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
  $("place").textContent = asked ? `Question ${view.number} of ${view.count}` : "All questions are answered";
  $("bar").value = (view.number - 1) / view.count;
  $("form").hidden = !asked;
  $("result").hidden = asked;
  $("overview").replaceChildren(...view.overview.map(([key, text], index) => overviewRow(view, key, text, index + 1)));
  if (asked) showQuestion(view);
  else showResult(view);
}

function overviewRow(view, key, text, number) {
  const row = element("button", { type: "button" }, element("span", { textContent: key.replaceAll("_", " ") }), element("b", { textContent: text }));
  row.onclick = () => move("go", { number });
  if (number === view.number) row.setAttribute("aria-current", "step");
  return element("li", {}, row);
}

function showQuestion(view) {
  $("prompt").textContent = `${view.prompt}.`;
  $("drawing").innerHTML = view.drawing;
  $("fields").replaceChildren(...(view.choices.length ? choices(view) : view.fields.map(field)));
  $("back").disabled = view.number === 1;
  $("undo").disabled = !view.undo;
  refuse(view);
  const first = $("fields").querySelector("input:checked, select, input");
  if (matchMedia("(pointer: coarse)").matches) $("prompt").focus(); // the keyboard of a phone would hide the drawing
  else first.focus();
  if (first.select) first.select();
}

function field(part, index) {
  const input = element("input", { id: `part-${index}`, value: part.value, inputMode: part.signed ? "text" : "decimal" });
  const unit = element("select", { ariaLabel: `Unit of ${part.name}` }, ...part.units.map((name) => new Option(name)));
  unit.value = part.unit;
  const label = element("label", { htmlFor: input.id, textContent: part.name });
  return element("div", { className: "field" }, label, element("div", {}, input, unit));
}

function choices(view) {
  if (view.choices.length > MANY) {
    const list = element("select", { ariaLabel: view.key }, ...view.choices.map((word) => new Option(word)));
    list.value = view.proposal;
    return [list];
  }
  return view.choices.map((word) => {
    const button = element("input", { type: "radio", name: "choice", value: word, checked: word === view.proposal });
    return element("label", { className: "choice" }, button, word);
  });
}

// The answer as it would be typed in the terminal; empty for the proposal.
function typed() {
  if (!changed) return "";
  const chosen = $("fields").querySelector("input[type=radio]:checked, select:not([aria-label^=Unit])");
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
  hint(reply.refusal ? `${reply.doubtful ? "Hardly possible" : "Not possible"}: ${reply.refusal}.` : "", Boolean(reply.refusal));
  $("keep").hidden = !reply.doubtful;
  for (const input of $("fields").querySelectorAll("input, select")) input.setAttribute("aria-invalid", String(Boolean(reply.refusal)));
}

async function follow() {
  const reply = await ask("type", { key: shown.key, text: typed() });
  if (!reply) return;
  if (reply.count) return show(reply);
  refuse(reply);
  if (reply.drawing) $("drawing").innerHTML = reply.drawing;
}

async function showResult(view) {
  $("file").textContent = view.file;
  $("picture").innerHTML = view.picture;
  $("command").textContent = view.command;
  $("verdict").textContent = "Checking, which takes up to 20 seconds …";
  $("remarks").replaceChildren();
  $("done").focus();
  const reply = await ask("check");
  if (!reply) return;
  const wrong = reply.remarks.filter((remark) => ["problem", "wrong"].includes(remark.seriousness)).length;
  const verdict = wrong ? `${wrong} to change, the worst first` : "No problem found";
  $("verdict").textContent = reply.error || `${verdict}.`;
  $("remarks").replaceChildren(...reply.remarks.map((remark) => {
    const change = remark.change ? ` Change: ${remark.change}.` : "";
    const row = element("li", {}, element("b", { textContent: remark.seriousness }), `: ${remark.text}.${change}`);
    row.dataset.seriousness = remark.seriousness;
    return row;
  }));
}

$("form").onsubmit = (event) => {
  event.preventDefault();
  move("answer", { key: shown.key, text: typed() });
};
$("fields").oninput = () => {
  changed = true;
  clearTimeout(timer);
  timer = setTimeout(follow, TYPING_PAUSE);
};
$("keep").onclick = () => move("answer", { key: shown.key, text: `${typed() || shown.proposal} ${KEEP}` });
$("back").onclick = () => move("back");
$("undo").onclick = () => move("undo");
$("copy").onclick = async () => {
  await navigator.clipboard.writeText(shown.command);
  $("copy").textContent = "Copied";
};
move("show");
