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
 * How a picture shows points of base_footprint: where they are on it [px], and how far one has to go across and up in the plane
 * of a flat view [m], to move on the picture by a way [px].
 * @typedef {{view: string, at: (point: number[]) => number[], way: (point: number[], x: number, y: number) => number[]}} Eye
 */

/**
 * The eye of a flat view.
 * @param {string} view
 * @param {import("../drawing/projections.js").Projections} projections
 * @returns {Eye}
 */
function flatEye(view, projections) {
  const scale = projections.scale[view];
  return { view, at: projections.places[view], way: (_, x, y) => [x / scale, -y / scale] };
}

/**
 * The eye of the 3D view: a drag moves what it grabs in the plane of the flat view that it resembles most.
 * @param {string} view
 * @param {Float32Array} screen from base_footprint to the clip space
 * @param {number[]} size of the picture [px]
 * @returns {Eye}
 */
export function spaceEye(view, screen, [width, height]) {
  const { across, sign, up } = VIEWS[view];
  const axis = (/** @type {Axis} */ name, length = 1) => [0, 1, 2].map((row) => (row === ROWS[name] ? length : 0));
  const clip = (/** @type {number[]} */ point) => [0, 1, 2, 3].map((row) => point.reduce((sum, value, column) => sum + screen[4 * column + row] * value, 0));
  const at = (/** @type {number[]} */ point) => {
    const [x, y, , w] = clip([...point, 1]);
    return [(width * (1 + x / w)) / 2, (height * (1 - y / w)) / 2];
  };
  const way = (/** @type {number[]} */ point, /** @type {number} */ x, /** @type {number} */ y) => {
    const [px, py] = at(point);
    const to = [(2 * (px + x)) / width - 1, 1 - (2 * (py + y)) / height];
    // Of point + a * across + b * up, which is there: (x - to[0] w, y - to[1] w) is zero.
    const [[c0, c1], [a0, a1], [b0, b1]] = [[...point, 1], [...axis(across, sign), 0], [...axis(up), 0]].map((each) => clip(each)).map(([cx, cy, , w]) => [cx - to[0] * w, cy - to[1] * w]);
    const determinant = a0 * b1 - a1 * b0;
    return [(b0 * c1 - b1 * c0) / determinant, (a1 * c0 - a0 * c1) / determinant];
  };
  return { view, at, way };
}

/**
 * While the editor poses, a drag moves the foot or the body that it begins at; at an end of the body it turns it.
 * @param {HTMLCanvasElement} canvas
 * @param {string} name of the view, `space` for that in 3D
 * @param {import("../drawing/projections.js").Projections} projections
 * @param {import("../panels/dance_panel.js").DancePanel} editor
 * @param {() => import("../drawing/scene3d.js").Scene3d | null} scene
 */
export function poseByDragging(canvas, name, projections, editor, scene = () => null) {
  /** @type {((x: number, y: number) => void) | null} */
  let moved = null;
  let pointer = -1;

  const footMoved = (/** @type {Eye} */ eye, /** @type {number} */ leg) => {
    const view = VIEWS[eye.view];
    const seen = projections.pose.legs[leg][3];
    const start = [...seen];
    if (eye.view === "top" && projections.pose.planted[leg]) start[2] += LIFT * (projections.robot?.height ?? 0);
    return (/** @type {number} */ x, /** @type {number} */ y) => {
      const [across, up] = eye.way(seen, x, y);
      const point = [...start];
      point[ROWS[view.across]] += view.sign * across;
      point[ROWS[view.up]] += up;
      editor.poseFoot(leg, point);
    };
  };
  const bodyMoved = (/** @type {Eye} */ eye, /** @type {number[]} */ middle) => {
    const view = VIEWS[eye.view];
    const { target, height } = editor.body;
    const start = { ...target, z: height };
    return (/** @type {number} */ x, /** @type {number} */ y) => {
      const [across, up] = eye.way(middle, x, y);
      editor.poseBody({ ...start, [view.across]: start[view.across] + view.sign * across, [view.up]: start[view.up] + up });
    };
  };
  const bodyTurned = (/** @type {Eye} */ eye, /** @type {number[]} */ middle, /** @type {number[]} */ off) => {
    const view = VIEWS[eye.view];
    const start = { ...editor.body.target };
    const [[a0, a1], [b0, b1]] = [eye.way(middle, 1, 0), eye.way(middle, 0, -1)];
    const way = view.way * Math.sign(a0 * b1 - a1 * b0); // seen from the other side it turns the other way
    return (/** @type {number} */ x, /** @type {number} */ y) => {
      const angle = Math.atan2(off[1] - y, off[0] + x) - Math.atan2(off[1], off[0]);
      editor.poseBody({ [view.turn]: start[view.turn] + way * Math.atan2(Math.sin(angle), Math.cos(angle)) });
    };
  };
  // What a drag from that place moves.
  const grab = (/** @type {Eye} */ eye, /** @type {number} */ x, /** @type {number} */ y) => {
    const { pose } = projections;
    const { at } = eye;
    const far = pose.legs.map((points, leg) => (leg === editor.leg ? 0.5 : 1) * Math.hypot(at(points[3])[0] - x, at(points[3])[1] - y));
    const leg = far.indexOf(Math.min(...far));
    const box = pose.box.map(at);
    const [middle, half] = [0, 1].map((row) => [Math.min(...box.map((corner) => corner[row])), Math.max(...box.map((corner) => corner[row]))]).reduce((/** @type {number[][]} */ found, [low, high]) => [[...found[0], (low + high) / 2], [...found[1], (high - low) / 2]], [[], []]);
    const off = [x - middle[0], middle[1] - y];
    const outside = Math.max(...off.map((value, row) => Math.abs(value) - half[row]));
    if (far[leg] < NEAR[Number(outside < 0)]) return footMoved(eye, leg);
    if (outside > MARGIN) return null;
    const center = [0, 1, 2].map((row) => pose.box.reduce((sum, corner) => sum + corner[row] / pose.box.length, 0));
    const ahead = center.map((value, row) => value + (row === ROWS[eye.view === "front" ? "y" : "x"] ? 0.01 : 0));
    const [along] = [0, 1].sort((a, b) => Math.abs(at(ahead)[b] - at(center)[b]) - Math.abs(at(ahead)[a] - at(center)[a])); // the long axis of the body
    return Math.abs(off[along]) > END * half[along] ? bodyTurned(eye, center, off) : bodyMoved(eye, center);
  };

  const capture = true; // before what else listens: it steers, changes the picture or turns the camera
  canvas.addEventListener("pointerdown", (event) => {
    if (!editor.posing) return;
    if (name !== "space") event.stopImmediatePropagation();
    if (event.button || moved || !projections.pose) return;
    const box = canvas.getBoundingClientRect();
    const space = scene();
    const eye = name !== "space" ? flatEye(name, projections) : space?.screen && spaceEye(space.resembled, space.screen, [box.width, box.height]);
    const move = eye && grab(eye, event.clientX - box.left, event.clientY - box.top);
    if (!move) return;
    event.stopImmediatePropagation();
    pointer = event.pointerId;
    canvas.setPointerCapture(pointer);
    moved = (x, y) => move(x - event.clientX, y - event.clientY);
  }, { capture });
  canvas.addEventListener("pointermove", (event) => event.pointerId === pointer && moved?.(event.clientX, event.clientY));
  for (const kind of /** @type {const} */ (["pointerup", "pointercancel"]))
    canvas.addEventListener(kind, (event) => {
      if (event.pointerId !== pointer || !moved) return;
      moved = null;
      editor.show();
    });
}
