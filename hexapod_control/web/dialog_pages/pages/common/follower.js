// SPDX-License-Identifier: Apache-2.0
// Follows a program: every reply is a view, and the next request waits until the program has another one.

import { request } from "./requests.js";

const RETRY = 1000; // [ms]

export class Follower {
  // `shown` takes every view, `failed` an error; a view with `end` is the last one.
  constructor(shown, failed) {
    [this.shown, this.failed, this.seen, this.ended] = [shown, failed, "", false];
    this.window = windowName();
  }

  async start() {
    while (!this.ended) {
      if (!(await this.act("show", { seen: this.seen }))) await new Promise((resolve) => setTimeout(resolve, RETRY));
    }
  }

  // Sends a request and shows the reply. Returns whether there was one.
  async act(act, fields = {}) {
    try {
      const view = await request(act, { window: this.window, ...fields });
      if (this.ended) return true;
      [this.seen, this.ended] = [view.seen, Boolean(view.end)];
      this.shown(view);
      return true;
    } catch (error) {
      if (!this.ended) this.failed(error);
      return false;
    }
  }
}

// A name for this window, which a reload keeps.
function windowName() {
  try {
    return (sessionStorage.window ??= Math.random().toString(36).slice(2));
  } catch {
    return Math.random().toString(36).slice(2);
  }
}
