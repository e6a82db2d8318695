# SPDX-License-Identifier: Apache-2.0
"""Requests of an operator: the services that each calls, one after the other while all goes well."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from std_srvs.srv import SetBool, Trigger

CLEAR = (("reset_fault", Trigger.Request()),)
RESET = (("estop", SetBool.Request(data=False)), *CLEAR)
ARM = (("arm", Trigger.Request()),)
STEPS: Mapping[str, tuple[tuple[str, Any], ...]] = {  # services and what is sent to them, by request
    **{name: ((name, Trigger.Request()),) for name in ("stand", "sit", "stop", "disarm")},
    "estop": (("estop", SetBool.Request(data=True)),),
    "reset": RESET,
    "arm": ARM,
    "rearm": RESET + ARM,
    "reset_and_arm": CLEAR + ARM,  # after a fault that was no emergency stop: one that is latched stays so
}
