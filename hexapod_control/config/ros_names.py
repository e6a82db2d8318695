# SPDX-License-Identifier: Apache-2.0
"""Names, files and numbers that ROS takes from a command line or the environment, checked before rclpy starts.

rclpy reports invalid ones with a traceback or several lines, waits forever on a pipe, and fails late for an invalid
domain. With an unknown middleware, importing it ends the process.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from hexapod_control.config.bounded_yaml import UnusableFileError, read_text
from hexapod_control.core.names import quoted

MAX_NAMESPACE_LENGTH = 150  # characters; with a topic and the prefixes of DDS a name has at most 255
MAX_NAME_LENGTH = 200  # characters of a topic or a node
MAX_FRAME_LENGTH = 64  # characters of a frame id, and of a prefix
MAX_DOMAIN = 232  # larger domains have no valid ports
DOMAIN = "ROS_DOMAIN_ID"
MIDDLEWARE = "RMW_IMPLEMENTATION"
SECURITY = "ROS_SECURITY_ENABLE"
KEYSTORE = "ROS_SECURITY_KEYSTORE"
INSTALLED_MIDDLEWARE = "share/ament_index/resource_index/rmw_typesupport"  # below a prefix
TOKEN = r"[A-Za-z_][A-Za-z0-9_]*"
RULE = "letters, digits and _, no digit first"
FRAME_PART = r"[A-Za-z0-9_][A-Za-z0-9_.-]*"
FRAME_RULE = f"letters, digits, _, . and -, with one / between them and none at the start, at most {MAX_FRAME_LENGTH}"


class RosNameError(ValueError):
    """A name, file or number that ROS cannot use; the message has the remedy."""


def namespace(text: str) -> str:
    """The namespace of a robot with a slash before it, e.g. /a/b; "" for none. Raises RosNameError."""
    name = text.strip("/")
    if name and (len(name) > MAX_NAMESPACE_LENGTH or not re.fullmatch(rf"{TOKEN}(/{TOKEN})*", name)):
        parts = f"must be parts of {RULE}, with one / between them, at most {MAX_NAMESPACE_LENGTH} characters"
        raise RosNameError(f"namespace {quoted(text)} {parts}, e.g. robot1")
    return f"/{name}" if name else ""


def topic(text: str) -> str:
    """The name of a topic. Raises RosNameError."""
    if len(text) > MAX_NAME_LENGTH or not re.fullmatch(rf"(~?/)?{TOKEN}(/{TOKEN})*", text):
        raise RosNameError(f"topic {quoted(text)} must be parts of {RULE}, with one / between them, e.g. nav_vel")
    return text


def frame(text: str) -> str:
    """A frame id; tf2 looks up none that begins with a slash. Raises RosNameError."""
    if len(text) > MAX_FRAME_LENGTH or not re.fullmatch(rf"{FRAME_PART}(/{FRAME_PART})*", text):
        raise RosNameError(f"frame {quoted(text)} must be parts of {FRAME_RULE}, e.g. base_link")
    return text


def frame_prefix(text: str) -> str:
    """A text that is put before frame ids; may be empty. Raises RosNameError."""
    if text and (len(text) > MAX_FRAME_LENGTH or not re.fullmatch(rf"{FRAME_PART}(/{FRAME_PART})*/?", text)):
        raise RosNameError(f"frame prefix {quoted(text)} must be parts of {FRAME_RULE}, e.g. left/")
    return text


def check_domain(environment: Mapping[str, str] = os.environ) -> None:
    """Raises RosNameError if the environment names a domain that does not exist."""
    text = environment.get(DOMAIN, "")
    if text and not (re.fullmatch("[0-9]{1,3}", text) and int(text) <= MAX_DOMAIN):
        raise RosNameError(f"{DOMAIN} is {quoted(text)}, must be a whole number from 0 to {MAX_DOMAIN}; unset it for 0")


def check_middleware(environment: Mapping[str, str] = os.environ) -> None:
    """Raises RosNameError if the environment names a middleware that is not installed."""
    chosen = environment.get(MIDDLEWARE, "")
    prefixes = [*environment.get("AMENT_PREFIX_PATH", "").split(os.pathsep), sys.prefix]
    folders = [Path(prefix, INSTALLED_MIDDLEWARE) for prefix in prefixes if prefix]
    installed = {file.name for folder in folders if folder.is_dir() for file in folder.iterdir()}
    installed.discard("rmw_implementation")  # rclpy then chooses another one
    if chosen and installed and chosen not in installed:
        known = " or ".join(sorted(installed))
        raise RosNameError(f"{MIDDLEWARE} is {quoted(chosen)}, which is not installed: unset it, or set it to {known}")


def security_enabled(environment: Mapping[str, str]) -> bool:
    """Whether the environment asks for SROS2: encrypted topics, with a key for every program."""
    return environment.get(SECURITY, "") == "true"


def check_security(environment: Mapping[str, str] = os.environ) -> None:
    """Raises RosNameError if the environment asks for security and names no keystore."""
    if not security_enabled(environment):
        return
    keystore = environment.get(KEYSTORE, "")
    if not (keystore and Path(keystore, "enclaves").is_dir()):
        what = f"{KEYSTORE} is {quoted(keystore)}, which is no keystore" if keystore else f"{KEYSTORE} is not set"
        remedy = "make one with `ros2 security create_keystore`, or unset ROS_SECURITY_ENABLE"
        raise RosNameError(f"ROS_SECURITY_ENABLE is true, but {what}: {remedy}")


def require_middleware() -> None:
    """Ends the process with exit code 2 if the middleware is not installed; call it before importing rclpy."""
    try:
        check_middleware()
    except RosNameError as error:
        print(error, file=sys.stderr, flush=True)
        raise SystemExit(2) from None


def check_arguments(words: Sequence[str]) -> None:
    """Checks the environment, and the names and files in the ROS arguments of a command line. Raises RosNameError."""
    check_domain()
    check_middleware()
    for option, value in pairwise(words):
        if option in ("-r", "--remap"):
            _check_remap(value)
        elif option in ("-p", "--param") and not re.fullmatch(r"(?s)[\w/*.:]+:=.*", value):
            raise RosNameError(f"parameter {quoted(value)} must be NAME:=VALUE, e.g. gait:=wave")
        elif option in ("-e", "--enclave") and not re.fullmatch(rf"/({TOKEN}(/{TOKEN})*)?", value):
            raise RosNameError(f"enclave {quoted(value)} must begin with a /, with parts of {RULE}, e.g. /robot1")
        elif option == "--params-file":
            _check_file(value)


def _check_remap(rule: str) -> None:
    source, separator, target = rule.partition(":=")
    kind = source.rpartition(":")[2]
    if not separator or not re.fullmatch(r"[\w~/*:\\]+", source):
        raise RosNameError(f"remap {quoted(rule)} must be FROM:=TO, e.g. cmd_vel:=nav_vel")
    if kind == "__ns":
        if namespace(target) != target.rstrip("/") or not target:
            raise RosNameError(f"namespace {quoted(target)} must begin with a single /, e.g. /robot1")
    elif kind in ("__node", "__name"):
        if len(target) > MAX_NAME_LENGTH or not re.fullmatch(TOKEN, target):
            raise RosNameError(f"node name {quoted(target)} must be {RULE}, e.g. gait_planner")
    else:
        topic(target)


def _check_file(path: str) -> None:
    try:
        read_text(Path(path))
    except UnusableFileError as error:
        raise RosNameError(f"{path}: {error}") from None
