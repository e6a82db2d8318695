// SPDX-License-Identifier: Apache-2.0
// Sends what is to be drawn to a worker, one frame at a time: on a computer without a GPU a frame can take seconds, in which
// the page must still take STOP.

import { KINDS, STRIDE } from "./painter.js";

/** @typedef {{id: number, count: number}} Mesh */
/** @typedef {{software: boolean, cost: number}} Frame whether it was drawn without a GPU, and in how much time [ms] */

export class PaintedElsewhere {
  busy = false; // a frame is being drawn
  meshes = 0;
  /** @type {any[][]} */
  orders = []; // methods of Painter with their arguments; meshes by number

  /**
   * @param {HTMLCanvasElement} canvas
   * @param {(frame: Frame) => void} drew
   * @param {() => void} missing called if the browser has no WebGL, or none in a worker
   */
  constructor(canvas, drew, missing) {
    if (!canvas.transferControlToOffscreen) {
      queueMicrotask(missing);
      return;
    }
    this.worker = new Worker(new URL("./painter_worker.js", import.meta.url), { type: "module" });
    this.worker.onerror = missing;
    this.worker.onmessage = ({ data }) => {
      this.busy = false;
      if (data) drew(data);
      else missing();
    };
    const surface = canvas.transferControlToOffscreen();
    this.worker.postMessage(surface, [surface]);
  }

  /**
   * Loads vertices, in place of those of a mesh if one is given.
   * @param {Float32Array} vertices
   * @param {Mesh | null} [mesh]
   * @returns {Mesh}
   */
  load(vertices, mesh, how = "load") {
    const id = mesh?.id ?? this.meshes++;
    this.orders.push([how, id, vertices]);
    return { id, count: vertices.length / STRIDE };
  }

  /**
   * As `load`, for triangles that share most of their vertices.
   * @param {Float32Array} vertices
   * @param {Mesh | null} [mesh]
   */
  loadShared(vertices, mesh) {
    return this.load(vertices, mesh, "loadShared");
  }

  /**
   * Begins a frame.
   * @param {number[]} size [px]
   * @param {Float32Array} camera
   * @param {number[]} eye
   * @param {number[]} shade colour of shadows
   */
  begin(size, camera, eye, shade) {
    this.orders.push(["begin", size, camera, eye, shade]);
  }

  /** @param {boolean} wanted whether what is behind hides nothing */
  depth(wanted) {
    this.orders.push(["depth", wanted]);
  }

  /**
   * Draws a mesh with its matrices, 16 numbers each.
   * @param {Mesh | null} mesh
   * @param {Float32Array} matrices
   * @param {number} [kind] one of KINDS
   * @param {number} [mode] triangles, or lines
   */
  draw(mesh, matrices, kind = KINDS.plain, mode = WebGLRenderingContext.TRIANGLES) {
    if (mesh?.count) this.orders.push(["draw", mesh.id, matrices, kind, mode]);
  }

  // Ends a frame: it is drawn while the page goes on.
  end() {
    this.busy = true;
    this.worker?.postMessage(this.orders);
    this.orders = [];
  }
}
