// SPDX-License-Identifier: Apache-2.0
// Draws the frames that painted_elsewhere.js sends.

import { Painter } from "./painter.js";

const SOFTWARE = /swiftshader|llvmpipe|software/i; // graphics without a GPU
const { postMessage: answer } = /** @type {any} */ (globalThis);

// Whether this browser draws WebGL without a GPU; determined with another canvas, as a context cannot be changed later.
function drawsWithoutGpu() {
  const gl = new OffscreenCanvas(1, 1).getContext("webgl");
  const names = gl?.getExtension("WEBGL_debug_renderer_info");
  const found = SOFTWARE.test(gl && names ? gl.getParameter(names.UNMASKED_RENDERER_WEBGL) : "");
  gl?.getExtension("WEBGL_lose_context")?.loseContext();
  return found;
}

/** @param {OffscreenCanvas} canvas */
function begin(canvas) {
  const software = drawsWithoutGpu();
  const gl = canvas.getContext("webgl", { antialias: !software, alpha: true }); // four samples per pixel cost too much
  if (!gl) return answer(null);
  const painter = new Painter(gl);
  /** @type {import("./painter.js").LoadedMesh[]} */
  const meshes = [];
  /** @type {Record<string, (...values: any[]) => void>} */
  const orders = {
    load: (id, vertices) => (meshes[id] = painter.load(vertices, meshes[id])),
    loadShared: (id, vertices) => (meshes[id] = painter.loadShared(vertices, meshes[id])),
    begin: ([width, height], ...view) => {
      if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
      painter.begin(.../** @type {[any, any, any]} */ (view));
    },
    depth: (wanted) => gl[wanted ? "enable" : "disable"](gl.DEPTH_TEST),
    draw: (id, ...how) => painter.draw(meshes[id], .../** @type {[any]} */ (how)),
  };
  addEventListener("message", ({ data }) => {
    const start = performance.now();
    for (const [order, ...values] of data) orders[order](...values);
    gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4)); // waits for the frame, so that none queue up
    answer({ software, cost: performance.now() - start });
  });
}

addEventListener("message", ({ data }) => begin(data), { once: true });
