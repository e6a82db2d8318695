// SPDX-License-Identifier: Apache-2.0
// Buttons beside the items of a list, and files for the browser to save.

import { t } from "../texts/texts.js";

const SURE = 3000; // [ms] in which a second press deletes
const SAVED = 3000; // [ms] after which the browser has read a file

/**
 * A button with the text of a key; to a screen reader it names its item, too.
 * @param {string} key
 * @param {string} item
 * @param {string} needs to be pressed, or ""
 * @param {() => void} press
 */
export function itemButton(key, item, needs, press) {
  const button = Object.assign(document.createElement("button"), { type: "button", textContent: t(key), onclick: press });
  button.setAttribute("aria-label", `${t(key)}: ${item}`);
  button.dataset.act = key;
  if (needs) button.dataset.needs = needs;
  return button;
}

/**
 * A button that drops an item when it is pressed twice.
 * @param {string} item
 * @param {() => void} drop
 */
export function deleteButton(item, drop) {
  const button = itemButton("record_delete", item, "seat", () => {
    if (button.dataset.sure) return drop();
    button.dataset.sure = "yes";
    button.textContent = t("record_delete_sure");
    setTimeout(() => {
      delete button.dataset.sure;
      button.textContent = t("record_delete");
    }, SURE);
  });
  return button;
}

/**
 * Saves what is at an address.
 * @param {string} address
 * @param {string} file
 */
export function saveFrom(address, file) {
  Object.assign(document.createElement("a"), { href: address, download: file }).click();
}

/**
 * @param {Blob} content
 * @param {string} file
 */
export function saveFile(content, file) {
  const address = URL.createObjectURL(content);
  saveFrom(address, file);
  setTimeout(() => URL.revokeObjectURL(address), SAVED);
}
