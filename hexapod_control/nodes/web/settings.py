# SPDX-License-Identifier: Apache-2.0
"""Parameters of web."""

from __future__ import annotations

from dataclasses import dataclass

from hexapod_control.core.quantity import choice, number
from hexapod_control.ros.distribution import stamped_by_default
from hexapod_control.ros.parameters import RobotSettings
from hexapod_control.web.page_address import PORT


@dataclass(frozen=True, slots=True)
class WebSettings(RobotSettings):
    """Parameters of web."""

    bind: str = choice("127.0.0.1", "address to listen on; lan listens on all")
    port: int = PORT.field()
    lan: bool = choice(False, "open the page to the network and show a QR code with an invitation for one person")
    token: str = choice("", "token for the page, at least 16 characters; empty: a random one at every start")
    allowed_hosts: str = choice("", "more host names under which the page is opened, with commas, e.g. of a TLS proxy")
    rate: float = number(30.0, "Hz", 1.0, 60.0, "states sent to every page")
    enable_stamped_cmd_vel: bool = choice(stamped_by_default(), "cmd_vel is TwistStamped, not Twist")
    recordings: str = choice("", "folder of the recordings; empty: below ~/.local/state/hexapod_control")
    recordings_limit: float = number(1000.0, "MB", 10.0, 1e6, "that all recordings may take")
    shutdown_command: str = choice(
        "", "command that a page may run to switch the computer off, such as systemctl poweroff; empty: none"
    )
    certificate: str = choice("", "folder made by hexapod web-cert, to serve the page by https; empty: by http")
