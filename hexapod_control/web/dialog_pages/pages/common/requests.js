// SPDX-License-Identifier: Apache-2.0
// Requests to the program behind the page. The token of the address is exchanged for a key, which the browser keeps.

import { load, save } from "./texts/texts.js";

const STORE = "dialog"; // token and key of the last page
const token = decodeURIComponent(location.hash.slice(1));
let kept = JSON.parse(load(STORE) ?? "{}");
addEventListener("hashchange", () => location.reload()); // the program was started again and has a new address

// Returns the reply to a request. Throws TypeError without a connection, Error with the reason of a refusal.
export async function request(act, fields = {}) {
  const body = JSON.stringify({ act, ...fields });
  const key = kept.token === token ? kept.key : "";
  let response = await post(key || token, body);
  if (response.status === 401 && key) response = await post(token, body);
  if (!response.ok) throw new Error((await response.text()).trim());
  kept = { token, key: response.headers.get("Hexapod-Key") };
  save(STORE, JSON.stringify(kept));
  return response.json();
}

function post(word, body) {
  const headers = { Authorization: `Bearer ${word}`, "Content-Type": "application/json" };
  return fetch("request", { method: "POST", headers, body });
}

// The address of a page as this browser reaches the robot, in the language of this one.
export function pageAddress(url) {
  const address = new URL(url);
  address.hostname = location.hostname;
  address.search = `lang=${document.documentElement.lang}`;
  return address.href;
}
