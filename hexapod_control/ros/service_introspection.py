# SPDX-License-Identifier: Apache-2.0
"""Service introspection: every request and response of a node's services as an event on `SERVICE/_service_event`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rclpy.clock import Clock
from rclpy.service_introspection import ServiceIntrospectionState

from hexapod_control.core.quantity import choice
from hexapod_control.ros.parameters import LIVE
from hexapod_control.ros.qos import EVENTS

STATES = {
    "disabled": ServiceIntrospectionState.OFF,
    "metadata": ServiceIntrospectionState.METADATA,
    "contents": ServiceIntrospectionState.CONTENTS,
}


def _check(text: str) -> None:
    if text not in STATES:
        raise ValueError(f"must be one of {', '.join(STATES)}, is {text!r}")


@dataclass(frozen=True, slots=True)
class IntrospectionSettings:
    """Parameters of every node."""

    service_introspection: str = choice(
        "disabled",
        "calls of the services as events on `SERVICE/_service_event`: disabled, metadata, or contents",
        check=_check,
        **LIVE,
    )


def configure(service: Any, clock: Clock, settings: IntrospectionSettings) -> None:
    """Begins or ends the events of a service of rclpy; that for type descriptions, made in C, cannot have any."""
    if not service.srv_type.__module__.startswith("type_description"):
        service.configure_introspection(clock, EVENTS, STATES[settings.service_introspection])
