# SPDX-License-Identifier: Apache-2.0
"""What to look for on a page in a browser, as JavaScript expressions, at which sizes [px], and how often it draws."""

import struct
import zlib

SIZES = [(320, 568), (390, 844), (844, 390), (640, 360), (820, 1180), (1280, 720), (1440, 900), (1920, 1080)]
SMALL = """[...document.querySelectorAll('button, select, input, .stick')].filter((e) => e.offsetParent).map((e) =>
  [e.id || e.textContent, e.getBoundingClientRect()]).filter(([, b]) => b.width < 43.5 || b.height < 43.5)
  .map(([n]) => n)"""
PAGE_SIZE = "[document.documentElement.scrollWidth, document.documentElement.scrollHeight]"
OUTSIDE = """['step', 'gait', 'stop', 'estop', 'left', 'right', 'speeds'].filter((id) => {
  const b = document.getElementById(id).getBoundingClientRect();
  return b.left < 0 || b.top < 0 || b.right > innerWidth + 0.5 || b.bottom > innerHeight + 0.5; })"""
COVERED = """['step', 'stop', 'estop', 'left', 'right'].filter((id) => {
  const e = document.getElementById(id), b = e.getBoundingClientRect();
  return !e.contains(document.elementFromPoint(b.left + b.width / 2, b.top + b.height / 2)); })"""
HIDDEN_ROBOT = """[...document.querySelectorAll('.picture canvas')].filter((e) => e.offsetParent).filter((e) => {
  const b = e.getBoundingClientRect();
  return document.elementFromPoint(b.left + b.width / 2, b.top + b.height / 2) !== e; }).map((e) => e.id)"""
HIDDEN_TRIP = """(() => { const e = document.getElementById('trip-reset'), b = e.getBoundingClientRect();
  return document.elementFromPoint(b.left + b.width / 2, b.top + b.height / 2) !== e; })()"""
CUT = """[...document.querySelectorAll('#speeds button, #sheets button')].filter((e) => e.offsetParent &&
  [e, e.parentElement].some((each) => each.scrollWidth > each.clientWidth + 1)).map((e) => e.textContent)"""
NAMELESS = """[...document.querySelectorAll('button, select, input, [role=region], [role=group], canvas')].filter((e) =>
  !e.hidden && !(e.getAttribute('aria-label') || e.getAttribute('aria-labelledby') || e.labels?.length ||
  e.textContent.trim())).map((e) => e.outerHTML)"""
HEADINGS = "[...document.querySelectorAll('h1, h2, h3')].map((e) => [Number(e.tagName[1]), e.textContent.trim()])"
UNFOCUSABLE = """[...document.querySelectorAll('*')].filter((e) => e.scrollHeight > e.clientHeight + 1 &&
  ['auto', 'scroll'].includes(getComputedStyle(e).overflowY) && e.tabIndex < 0 &&
  ![...e.querySelectorAll('button, input, select, [tabindex="0"]')].some((f) => f.offsetParent)).map((e) => e.id)"""

PAUSE_S = 0.05  # between two looks at a page: each one is work for three processes
STATE_RATE = 10.0  # [Hz] of the states that a page gets where smooth pictures are not the subject

FEWER_FRAMES = """{
  const soon = requestAnimationFrame;
  globalThis.requestAnimationFrame = (draw) => setTimeout(() => soon(draw), 200);
}"""

STOP_DRAWING = """globalThis.waiting = [];
globalThis.usual = requestAnimationFrame;
globalThis.requestAnimationFrame = (draw) => waiting.push(draw);"""
DRAW_AGAIN = """globalThis.requestAnimationFrame = usual;
for (const draw of waiting.splice(0)) requestAnimationFrame(draw);"""


def draw_less(page):
    """The page draws five times a second, also after it is loaded again: without a GPU, drawing takes a whole core."""
    page.js(FEWER_FRAMES)
    page.call("Page.enable")
    page.call("Page.addScriptToEvaluateOnNewDocument", source=FEWER_FRAMES)


def png(width, height):
    """A black picture."""
    parts = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)),
        (b"IDAT", zlib.compress(height * bytes(1 + width))),
        (b"IEND", b""),
    ]
    chunks = [struct.pack(">I", len(d)) + k + d + struct.pack(">I", zlib.crc32(k + d)) for k, d in parts]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)
