"""A real Chromium for tests and figures: the DevTools protocol over a pipe, without a driver and without a port."""

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

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
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


class NoBrowserError(RuntimeError):
    """There is no Chromium, or it does not answer."""


class MissingBrowserError(NoBrowserError):
    """There is no Chromium on this machine."""


def program() -> str:
    """Chromium's path. Raises MissingBrowserError."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        raise MissingBrowserError("Chromium is missing: apt install chromium")
    return found


class Browser:
    """One Chromium with its own profile; close it at the end."""

    def __init__(self, profile: str | Path) -> None:
        """`profile` is an empty folder."""
        down, self._commands = os.pipe()
        self._answers, up = os.pipe()

        def arrange() -> None:
            for wanted, number in [(3, os.dup(down)), (4, os.dup(up))]:
                os.dup2(number, wanted)

        self.process = subprocess.Popen(
            [program(), *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            preexec_fn=arrange,
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
        with contextlib.suppress(OSError, NoBrowserError):
            self.call("Browser.close")
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(5.0)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(5.0)
        os.close(self._commands)
        os.close(self._answers)

    def call(self, method: str, session: str = "", **parameters: Any) -> dict[str, Any]:
        """The result of a command of the protocol. Raises NoBrowserError."""
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
                    raise NoBrowserError(f"{method}: {answer['error']}")
                return dict(answer["result"])
            self.events.append(answer)

    def _read(self, deadline: float, what: str) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            left = deadline - time.monotonic()
            ready = left > 0 and select.select([self._answers], [], [], left)[0]
            data = os.read(self._answers, 1 << 20) if ready else b""
            if not data:
                raise NoBrowserError(f"the browser does not answer {what}")
            self._buffer += data
        text, self._buffer = self._buffer.split(b"\0", 1)
        return dict(json.loads(text))

    def page(self, url: str, width: int = 1280, height: int = 800, touch: bool = False) -> BrowserPage:
        """A new page of that size [px] in its own browser context, isolated from other pages."""
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
        self.browser, self.target, self.session = browser, target, session

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """A command of the protocol to this page."""
        return self.browser.call(method, self.session, **parameters)

    def close(self) -> None:
        """Closes the page."""
        self.browser.call("Target.closeTarget", targetId=self.target)

    def resize(self, width: int, height: int, touch: bool = False) -> None:
        """Size [px]; with touch it is a phone."""
        ratio = 2 if touch else 1
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=ratio, mobile=touch
        )
        self.call("Emulation.setTouchEmulationEnabled", enabled=touch, maxTouchPoints=5)

    def scheme(self, name: str) -> None:
        """Sets the preferred colour scheme: dark or light."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def js(self, expression: str) -> Any:
        """The value of an expression, awaited if it is a promise. Raises NoBrowserError for an exception in it."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise NoBrowserError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def box(self, selector: str) -> tuple[float, float, float, float]:
        """Left, top, width, height [px] of an element."""
        left, top, width, height = self.js(
            f"(() => {{ const b = document.querySelector({json.dumps(selector)}).getBoundingClientRect();"
            "return [b.left, b.top, b.width, b.height]; })()"
        )
        return left, top, width, height

    def spot(self, selector: str, x: float = 0.5, y: float = 0.5) -> Place:
        """A place in an element, in shares of its size."""
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
    def complaints(self) -> list[str]:
        """Errors in the page's console."""
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
