// SPDX-License-Identifier: Apache-2.0
// Parses the links and joints of a URDF with their boxes, cylinders and spheres.

import { rigid, scaled } from "./matrices.js";

/**
 * @template T
 * @param {string | null | undefined} text
 * @param {T} or
 */
const numbers = (text, or) => (text ? text.trim().split(/\s+/).map(Number) : or);

/**
 * @param {string} text
 * @returns {import("./robot_mesh.js").Link | null}
 */
export function readUrdf(text) {
  const robot = new DOMParser().parseFromString(text, "application/xml").documentElement;
  const color = (/** @type {Element | null | undefined} */ material) => numbers(material?.querySelector("color")?.getAttribute("rgba"), null);
  const materials = new Map([...robot.querySelectorAll(":scope > material")].map((m) => [m.getAttribute("name"), color(m)]));
  const origin = (/** @type {Element} */ element) => {
    const found = [...element.children].find((child) => child.tagName === "origin");
    return rigid(numbers(found?.getAttribute("xyz"), [0, 0, 0]), numbers(found?.getAttribute("rpy"), [0, 0, 0]));
  };
  /** @type {Map<string | null | undefined, import("./robot_mesh.js").Link>} */
  const links = new Map([...robot.querySelectorAll(":scope > link")].map((link) => [link.getAttribute("name"), { visuals: [], children: [] }]));
  for (const link of robot.querySelectorAll(":scope > link"))
    for (const visual of link.querySelectorAll(":scope > visual")) {
      const shape = visual.querySelector("geometry")?.firstElementChild ?? null;
      const material = visual.querySelector("material");
      const paint = color(material) ?? materials.get(material?.getAttribute("name") ?? "") ?? [0.6, 0.62, 0.66, 1];
      const size = sizeOf(shape);
      if (shape && size) links.get(link.getAttribute("name"))?.visuals.push({ mesh: shape.tagName, at: scaled(origin(visual), size), color: paint });
    }
  const children = new Set();
  for (const joint of robot.querySelectorAll(":scope > joint")) {
    const child = joint.querySelector("child")?.getAttribute("link");
    const link = links.get(child);
    children.add(child);
    if (!link) continue;
    links.get(joint.querySelector("parent")?.getAttribute("link"))?.children.push({
      name: joint.getAttribute("name") ?? "",
      at: origin(joint),
      axis: numbers(joint.querySelector("axis")?.getAttribute("xyz"), [1, 0, 0]),
      fixed: joint.getAttribute("type") === "fixed",
      link,
    });
  }
  return links.get([...links.keys()].find((name) => !children.has(name))) ?? null;
}

/** @param {Element | null} shape */
function sizeOf(shape) {
  if (shape?.tagName === "box") return numbers(shape.getAttribute("size"), null);
  const radius = Number(shape?.getAttribute("radius"));
  if (shape?.tagName === "cylinder") return [radius, radius, Number(shape.getAttribute("length"))];
  return shape?.tagName === "sphere" ? [radius, radius, radius] : null; // meshes are not drawn
}
