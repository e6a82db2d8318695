// SPDX-License-Identifier: Apache-2.0
// The page opens from the home screen although the robot is off: files of the last visit, if the robot does not answer.

const KEPT = "page";

self.addEventListener("install", () => /** @type {any} */ (self).skipWaiting());
self.addEventListener("fetch", (/** @type {any} */ event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  if (request.method === "GET" && origin === location.origin && !pathname.startsWith("/download")) event.respondWith(answer(request));
});

/** @param {Request} request */
async function answer(request) {
  try {
    const response = await fetch(request);
    if (response.ok) (await caches.open(KEPT)).put(request, response.clone());
    return response;
  } catch (error) {
    const kept = await caches.match(request, { ignoreSearch: true });
    if (kept) return kept;
    throw error;
  }
}
