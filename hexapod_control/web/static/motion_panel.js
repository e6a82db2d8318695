// Motions as buttons, how far the one that plays has come, and how firmly the robot stands.

const WIDE = 120; // [mm] of margin that fill the bar
const LOW = 20; // [mm] of margin below which it is red
const MIDDLING = 40; // [mm]
const ENOUGH = 50; // [mm] between two legs: a wider gap is not measured

export class Moves {
  constructor(root, link) {
    this.link = link;
    const find = (id) => root.getElementById(id);
    [this.list, this.playing, this.name, this.bar] = ["moves", "playing", "playing-name", "playing-bar"].map(find);
    this.margin = find("margin");
    [this.number, this.gap] = ["b", "small"].map((name) => this.margin.querySelector(name));
    this.level = this.margin.querySelector("i");
    find("finish").onclick = () => link.send("play", { name: "" });
    find("cancel").onclick = () => link.send("ask", { what: "cancel_motion" });
  }

  // Twice a second: which motions there are, and how near the legs are to each other.
  status({ motions, leg_gap }) {
    if (motions.join() !== this.known) {
      this.known = motions.join();
      this.list.replaceChildren(...motions.map((name) => this.button(name)));
    }
    this.gap.textContent = leg_gap === null ? "" : `legs ${leg_gap < ENOUGH / 1000 ? Math.round(1000 * leg_gap) : `${ENOUGH}+`} mm`;
  }

  button(name) {
    const button = document.createElement("button");
    button.type = "button";
    button.dataset.motion = name;
    button.textContent = words(name);
    button.onclick = () => this.link.send("play", { name });
    return button;
  }

  // Thirty times a second.
  take({ motion, margin }) {
    const text = motion ? `${words(motion.name)} · ${motion.phase}` : "";
    if (this.name.textContent !== text) this.name.textContent = text;
    if (this.playing.hidden !== !motion) this.playing.hidden = !motion;
    if (motion?.phase === "rehearse") this.bar.removeAttribute("value");
    else if (motion) this.bar.value = motion.percent;
    for (const button of this.list.children) button.toggleAttribute("data-plays", button.dataset.motion === motion?.name);
    this.stands(margin === null ? null : Math.round(1000 * margin));
  }

  stands(millimetres) {
    if (millimetres === this.shown) return;
    this.shown = millimetres;
    this.margin.hidden = millimetres === null;
    if (millimetres === null) return;
    this.number.textContent = `margin ${millimetres} mm`;
    this.level.style.width = `${Math.max(0, Math.min(100, (100 * millimetres) / WIDE))}%`;
    this.margin.dataset.tone = millimetres < LOW ? "bad" : millimetres < MIDDLING ? "warn" : "good";
    this.margin.setAttribute("aria-valuenow", millimetres);
  }
}

function words(name) {
  const text = name.replaceAll("_", " ");
  return text[0].toUpperCase() + text.slice(1);
}
