// SPDX-License-Identifier: Apache-2.0
// The shapes of a URDF as meshes: the vertices of every link are fixed in it, and a frame only moves the links.

import { MESHES } from "./meshes.js";
import { about, multiply } from "./matrices.js";
import { joined, painted, ROWS } from "./painter.js";

/** @typedef {{mesh: string, at: Float32Array, color: number[]}} Visual */
/** @typedef {{name: string, at: Float32Array, axis: number[], fixed: boolean, link: Link}} Joint */
/** @typedef {{visuals: Visual[], children: Joint[]}} Link */

export class RobotMesh {
  /**
   * @param {Link} root
   * @param {number} lift brightens dark parts, against a dark ground
   */
  constructor(root, lift) {
    this.root = root;
    this.rows = 0; // links with shapes
    /** @type {Float32Array[][]} */
    const groups = []; // of links that are drawn at once
    /** @param {Link} link */
    const collect = (link) => {
      const row = this.rows;
      if (link.visuals.length) this.rows++;
      for (const { mesh, at, color } of link.visuals) {
        const brighter = color.map((value) => value + lift * (1 - value));
        (groups[Math.floor(row / ROWS)] ??= []).push(painted(placed(MESHES[mesh], at), brighter, row));
      }
      for (const joint of link.children) collect(joint.link);
    };
    collect(root);
    this.vertices = groups.map(joined);
    this.matrices = new Float32Array(16 * this.rows);
  }

  /**
   * The matrices of each group of links.
   * @param {Float32Array} base pose of the root
   * @param {(joint: string) => number} angle [rad]
   */
  move(base, angle) {
    let row = 0;
    /**
     * @param {Link} link
     * @param {Float32Array} at
     */
    const place = (link, at) => {
      if (link.visuals.length) this.matrices.set(at, 16 * row++);
      for (const joint of link.children) {
        const moved = multiply(at, joint.at);
        place(joint.link, joint.fixed ? moved : multiply(moved, about(joint.axis, angle(joint.name))));
      }
    };
    place(this.root, base);
    return this.vertices.map((_, group) => this.matrices.subarray(16 * ROWS * group, 16 * ROWS * (group + 1)));
  }
}

/**
 * Points with normals, moved and scaled.
 * @param {number[]} data
 * @param {Float32Array} m
 */
function placed(data, m) {
  const found = [];
  for (let i = 0; i < data.length; i += 6) {
    for (const [k, share] of [[0, 1], [3, 0]])
      for (let r = 0; r < 3; r++) found.push(m[r] * data[i + k] + m[4 + r] * data[i + k + 1] + m[8 + r] * data[i + k + 2] + share * m[12 + r]);
  }
  return found;
}
