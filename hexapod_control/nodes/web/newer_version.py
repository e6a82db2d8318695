# SPDX-License-Identifier: Apache-2.0
"""Whether a newer version exists, on request: by the checkout it was installed from, or by the lists of apt.

Nothing is asked of another machine by itself; a package of apt is compared with the lists of the last `apt update`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from importlib.metadata import distribution
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import hexapod_control

TIME_LIMIT_S = 10.0
QUIET = {"GIT_TERMINAL_PROMPT": "0", "GIT_SSH_COMMAND": "ssh -o BatchMode=yes", "LC_ALL": "C"}
Answer = dict[str, Any]
"""`text`, the key of a text of the page, and its `values`."""


def installed_version() -> str:
    """The version of this package."""
    return distribution("hexapod_control").version


def newer_version() -> Answer:
    """Looks for a newer version; takes up to some TIME_LIMIT_S."""
    try:
        package = Path(hexapod_control.__file__).resolve()
        if package.is_relative_to("/opt/ros"):
            return by_apt(f"ros-{package.parts[3]}-hexapod-control")
        source = distribution("hexapod_control").read_text("direct_url.json")
        path = Path(unquote(urlsplit(json.loads(source)["url"]).path)) if source else package
        checkout = next((each for each in (path, *path.parents) if Path(each, ".git").exists()), None)
        if checkout is None or not Path(checkout, "package.xml").exists():
            return {"text": "update_unknown", "values": {"reason": f"{path}: no checkout of git"}}
        return by_git(checkout)
    except (OSError, ValueError, LookupError, subprocess.SubprocessError) as error:
        return {"text": "update_unknown", "values": {"reason": str(error)}}


def by_git(checkout: Path) -> Answer:
    """Compares a checkout with the main branch of where it came from, of which nothing is fetched."""
    asked = _run("git", "-C", str(checkout), "ls-remote", "origin", "HEAD")
    if asked.returncode or not asked.stdout:
        return {
            "text": "update_unknown",
            "values": {"reason": " ".join(asked.stderr.split()) or "origin has no branch"},
        }
    there = asked.stdout.split()[0]
    known = _run("git", "-C", str(checkout), "merge-base", "--is-ancestor", there, "HEAD")
    if known.returncode == 0:
        return {"text": "update_none", "values": {"version": installed_version()}}
    return {"text": "update_there", "values": {"version": there[:8], "how": f"git -C {checkout} pull"}}


def by_apt(name: str) -> Answer:
    """Compares the installed package with the newest one that apt knows."""
    found = dict(re.findall(r"^ +(Installed|Candidate): (\S+)", _run("apt-cache", "policy", name).stdout, re.MULTILINE))
    installed, candidate = found.get("Installed", "(none)"), found.get("Candidate", "(none)")
    if "(none)" in (installed, candidate):
        return {"text": "update_unknown", "values": {"reason": f"apt-cache policy {name}: {installed}, {candidate}"}}
    if installed == candidate:
        return {"text": "update_none", "values": {"version": installed}}
    return {"text": "update_there", "values": {"version": candidate, "how": f"sudo apt install {name}"}}


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | QUIET
    return subprocess.run(
        command, capture_output=True, text=True, timeout=TIME_LIMIT_S, env=environment, stdin=subprocess.DEVNULL
    )
