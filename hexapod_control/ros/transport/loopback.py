# SPDX-License-Identifier: Apache-2.0
"""DDS between processes of this computer only, over UDP: for tests and measurements that pause or kill processes.

With ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST, rmw_fastrtps ignores FASTDDS_BUILTIN_TRANSPORTS: it uses shared memory and
binds its sockets to all addresses. A process that was paused for more than a second may then receive nothing until it
is paused again (seen with Fast DDS 2.14), and killed processes leave files in /dev/shm.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from hexapod_control.ros.distribution import distribution

TRANSPORT = "UDPv4"  # of the profile
PROFILE = Path(__file__).with_name("loopback.xml")


def profile_variable() -> str:
    """The environment variable with the path of the profile, which Fast DDS 3 has renamed."""
    return "FASTRTPS_DEFAULT_PROFILES_FILE" if distribution() == "jazzy" else "FASTDDS_DEFAULT_PROFILES_FILE"


def loopback_environment(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Returns the environment variables that restrict DDS to this computer, for the middleware in `environment`."""
    if environment.get("RMW_IMPLEMENTATION", "rmw_fastrtps_cpp") != "rmw_fastrtps_cpp":
        return {"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    return {"ROS_AUTOMATIC_DISCOVERY_RANGE": "SYSTEM_DEFAULT", profile_variable(): str(PROFILE)}


@contextmanager
def private_domain() -> Iterator[None]:
    """Sets a random ROS domain id, restricted to this computer, for this block and its child processes."""
    settings = {"ROS_DOMAIN_ID": str(random.SystemRandom().randrange(1, 100)), **loopback_environment()}
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
