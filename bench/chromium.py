# SPDX-License-Identifier: Apache-2.0
"""Controls a headless Chromium by the DevTools protocol over a pipe, for tests and benchmarks."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

# The first one has no windows, toolbars and settings of its own: it needs a tenth of the processor time at its start.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome")
INSTALLATION = "on Debian: apt install chromium-headless-shell, on Ubuntu: apt install chromium-browser"
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--enable-unsafe-swiftshader",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--remote-debugging-pipe",
)
RESPONSE_TIMEOUT_S = 15.0  # for a response of the browser
NUMBERS = {"Tab": 9, "Enter": 13, "ArrowLeft": 37, "ArrowUp": 38}  # of keys without a letter
Place = tuple[float, float]  # [px]


class BrowserError(RuntimeError):
    """Chromium does not answer, or reports an error."""


class MissingBrowserError(BrowserError):
    """Chromium is not installed."""


def program() -> str:
    """Returns the path of Chromium. Raises MissingBrowserError."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        raise MissingBrowserError(f"Chromium is missing: {INSTALLATION}")
    return found


class Browser:
    """One Chromium process with its own profile; call `close` at the end."""

    def __init__(self, profile: str | Path) -> None:
        """`profile` is an empty folder."""
        down, self._commands = os.pipe()
        self._answers, up = os.pipe()

        def arrange_pipes() -> None:  # --remote-debugging-pipe reads from 3 and writes to 4
            for wanted, number in [(3, os.dup(down)), (4, os.dup(up))]:
                os.dup2(number, wanted)

        self.process = subprocess.Popen(
            [program(), *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            preexec_fn=arrange_pipes,
            close_fds=False,
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(down)
        os.close(up)
        self._buffer = b""
        self._count = 0
        self.events: list[dict[str, Any]] = []

    def close(self) -> None:
        """Ends the browser, even if it hangs."""
        with contextlib.suppress(OSError, BrowserError):
            self.call("Browser.close")
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(5.0)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(5.0)
        os.close(self._commands)
        os.close(self._answers)

    def call(self, method: str, session: str = "", **parameters: Any) -> dict[str, Any]:
        """Sends a command of the protocol and returns its result. Raises BrowserError."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + RESPONSE_TIMEOUT_S
        while True:
            answer = self._read(deadline, method)
            if answer.get("id") == self._count:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']}")
                return dict(answer["result"])
            self.events.append(answer)

    def _read(self, deadline: float, what: str) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            left = deadline - time.monotonic()
            ready = left > 0 and select.select([self._answers], [], [], left)[0]
            data = os.read(self._answers, 1 << 20) if ready else b""
            if not data:
                raise BrowserError(f"the browser does not answer {what}")
            self._buffer += data
        text, self._buffer = self._buffer.split(b"\0", 1)
        return dict(json.loads(text))

    def page(self, url: str, width: int = 1280, height: int = 800, touch: bool = False) -> BrowserPage:
        """Opens a page of this size [px] in its own browser context, isolated from other pages."""
        context = self.call("Target.createBrowserContext")["browserContextId"]
        target = self.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        page = BrowserPage(self, target, self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"])
        for domain in ("Runtime", "Log"):
            page.call(f"{domain}.enable")
        page.call("Emulation.setFocusEmulationEnabled", enabled=True)
        page.resize(width, height, touch)
        page.scheme("light")
        page.call("Page.navigate", url=url)
        return page


class BrowserPage:
    """A page in the browser."""

    def __init__(self, browser: Browser, target: str, session: str) -> None:
        self.browser = browser
        self.target = target
        self.session = session

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Sends a command of the protocol to this page and returns its result. Raises BrowserError."""
        return self.browser.call(method, self.session, **parameters)

    def close(self) -> None:
        """Closes the page."""
        self.browser.call("Target.closeTarget", targetId=self.target)

    def resize(self, width: int, height: int, touch: bool = False) -> None:
        """Sets the size of the page [px]; `touch` emulates a phone."""
        ratio = 2 if touch else 1
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=ratio, mobile=touch
        )
        self.call("Emulation.setTouchEmulationEnabled", enabled=touch, maxTouchPoints=5)

    def scheme(self, name: str) -> None:
        """Sets the preferred colour scheme: dark or light."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def js(self, expression: str) -> Any:
        """Evaluates a JavaScript expression, awaiting a promise, and returns its value. Raises BrowserError."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise BrowserError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def box(self, selector: str) -> tuple[float, float, float, float]:
        """Returns left, top, width and height [px] of an element."""
        left, top, width, height = self.js(
            f"(() => {{ const b = document.querySelector({json.dumps(selector)}).getBoundingClientRect();"
            "return [b.left, b.top, b.width, b.height]; })()"
        )
        return left, top, width, height

    def spot(self, selector: str, x: float = 0.5, y: float = 0.5) -> Place:
        """Returns a position [px] in an element, given as shares of its width and height."""
        left, top, width, height = self.box(selector)
        return left + x * width, top + y * height

    def mouse(self, kind: str, place: Place, buttons: int = 1, modifiers: int = 0) -> None:
        """Sends a mouse event: Pressed, Moved or Released."""
        self.call(
            "Input.dispatchMouseEvent",
            type=f"mouse{kind}",
            x=place[0],
            y=place[1],
            button="left" if buttons or kind == "Released" else "none",
            buttons=buttons,
            clickCount=1,
            modifiers=modifiers,
        )

    def click(self, selector: str) -> None:
        """Clicks on the middle of an element."""
        place = self.spot(selector)
        self.mouse("Moved", place, 0)
        self.mouse("Pressed", place)
        self.mouse("Released", place, 0)

    def touch(self, kind: str, **fingers: Place) -> None:
        """Sends a touch event with these fingers: Start, Move or End."""
        points = [{"x": x, "y": y, "id": sum(name.encode())} for name, (x, y) in fingers.items()]
        self.call("Input.dispatchTouchEvent", type=f"touch{kind}", touchPoints=points)

    def key(self, kind: str, key: str, code: str = "", modifiers: int = 0) -> None:
        """Sends a key event: Down or Up."""
        number = ord(key.upper()) if len(key) == 1 else NUMBERS.get(key, 0)
        more = {"text": "\r"} if key == "Enter" and kind == "Down" else {}
        self.call(
            "Input.dispatchKeyEvent",
            type=f"key{kind}" if kind == "Up" or more else "rawKeyDown",
            key=key,
            code=code or f"Key{key.upper()}",
            windowsVirtualKeyCode=number,
            modifiers=modifiers,
            **more,
        )

    def press(self, key: str, code: str = "", modifiers: int = 0) -> None:
        """Presses and releases a key."""
        self.key("Down", key, code, modifiers)
        self.key("Up", key, code, modifiers)

    def choose(self, selector: str, value: str) -> None:
        """Sets a slider or a list, with the events of a user's input."""
        self.js(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.value = {json.dumps(value)};"
            "for (const n of ['input', 'change']) e.dispatchEvent(new Event(n, {bubbles: true})); })()"
        )

    def screenshot(self, path: Path) -> None:
        """Writes a picture (.png)."""
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    @property
    def errors(self) -> list[str]:
        """Errors in the console of the page."""
        found = []
        for event in self.browser.events:
            if event.get("sessionId") != self.session:
                continue
            details = event["params"]
            if event["method"] == "Runtime.exceptionThrown":
                found.append(json.dumps(details["exceptionDetails"]))
            elif event["method"] == "Log.entryAdded" and details["entry"]["level"] == "error":
                found.append(f"{details['entry']['text']} {details['entry'].get('url', '')}")
            elif event["method"] == "Runtime.consoleAPICalled" and details["type"] in ("error", "assert"):
                found.append(json.dumps(details["args"]))
        return found
