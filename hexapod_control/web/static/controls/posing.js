// SPDX-License-Identifier: Apache-2.0
// Dragging the body or a foot on a picture poses the robot.

const NEAR = [28, 8]; // [px] from a foot that is beside the body, or in front of it
const MARGIN = 16; // [px] around the body
const END = 0.6; // share of half the body, beyond which a drag turns it
const LIFT = 0.3; // of the body's height: how far a foot is lifted that is dragged as seen from above
/** @typedef {"x" | "y" | "z"} Axis */
/** @type {Record<string, {across: Axis, sign: number, up: Axis, turn: "roll" | "pitch" | "yaw", way: number}>} */
const VIEWS = {
  front: { across: "y", sign: -1, up: "z", turn: "roll", way: -1 },
  side: { across: "x", sign: 1, up: "z", turn: "pitch", way: -1 },
  top: { across: "y", sign: -1, up: "x", turn: "yaw", way: 1 },
};
const ROWS = { x: 0, y: 1, z: 2 };

/**
 * While the editor poses, a drag moves the foot or the body that it begins at; at an end of the body it turns it.
 * @param {HTMLCanvasElement} canvas
 * @param {string} name of the view
 * @param {import("../drawing/projections.js").Projections} projections
 * @param {import("../panels/dance_panel.js").DancePanel} editor
 */
export function poseByDragging(canvas, name, projections, editor) {
  const view = VIEWS[name];
  /** @type {((x: number, y: number) => void) | null} */
  let moved = null;
  let pointer = -1;

  const footMoved = (/** @type {number} */ leg) => {
    const start = [...projections.pose.legs[leg][3]];
    if (name === "top" && projections.pose.planted[leg]) start[2] += LIFT * (projections.robot?.height ?? 0);
    return (/** @type {number} */ across, /** @type {number} */ up) => {
      const point = [...start];
      point[ROWS[view.across]] += view.sign * across;
      point[ROWS[view.up]] += up;
      editor.poseFoot(leg, point);
    };
  };
  const bodyMoved = () => {
    const { target, height } = editor.body;
    const start = { ...target, z: height };
    return (/** @type {number} */ across, /** @type {number} */ up) => editor.poseBody({ ...start, [view.across]: start[view.across] + view.sign * across, [view.up]: start[view.up] + up });
  };
  const bodyTurned = (/** @type {number} */ x, /** @type {number} */ y, /** @type {number} */ scale) => {
    const start = { ...editor.body.target };
    return (/** @type {number} */ across, /** @type {number} */ up) => {
      const angle = Math.atan2(y + up * scale, x + across * scale) - Math.atan2(y, x);
      editor.poseBody({ [view.turn]: start[view.turn] + view.way * Math.atan2(Math.sin(angle), Math.cos(angle)) });
    };
  };
  // What a drag from that place moves.
  const grab = (/** @type {number} */ x, /** @type {number} */ y) => {
    const { pose } = projections;
    const at = projections.places[name];
    const far = pose.legs.map((points, leg) => (leg === editor.leg ? 0.5 : 1) * Math.hypot(at(points[3])[0] - x, at(points[3])[1] - y));
    const leg = far.indexOf(Math.min(...far));
    const box = pose.box.map(at);
    const [middle, half] = [0, 1].map((row) => [Math.min(...box.map((corner) => corner[row])), Math.max(...box.map((corner) => corner[row]))]).reduce((/** @type {number[][]} */ found, [low, high]) => [[...found[0], (low + high) / 2], [...found[1], (high - low) / 2]], [[], []]);
    const off = [x - middle[0], middle[1] - y];
    const outside = Math.max(...off.map((value, row) => Math.abs(value) - half[row]));
    if (far[leg] < NEAR[Number(outside < 0)]) return footMoved(leg);
    if (outside > MARGIN) return null;
    const along = name === "top" ? 1 : 0;
    return Math.abs(off[along]) > END * half[along] ? bodyTurned(off[0], off[1], projections.scale[name]) : bodyMoved();
  };

  canvas.addEventListener("pointerdown", (event) => {
    if (!editor.posing) return;
    event.stopImmediatePropagation(); // it steers, or changes the picture, otherwise
    if (event.button || moved || !projections.pose) return;
    const box = canvas.getBoundingClientRect();
    const move = grab(event.clientX - box.left, event.clientY - box.top);
    if (!move) return;
    const scale = projections.scale[name];
    pointer = event.pointerId;
    canvas.setPointerCapture(pointer);
    moved = (x, y) => move((x - event.clientX) / scale, (event.clientY - y) / scale);
  });
  canvas.addEventListener("pointermove", (event) => event.pointerId === pointer && moved?.(event.clientX, event.clientY));
  for (const kind of /** @type {const} */ (["pointerup", "pointercancel"]))
    canvas.addEventListener(kind, (event) => {
      if (event.pointerId !== pointer || !moved) return;
      moved = null;
      editor.show();
    });
}
