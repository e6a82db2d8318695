# SPDX-License-Identifier: Apache-2.0
"""The QoS profiles of all topics of the package."""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

DELIVERY_TIME_S = 0.3  # for the last message of a program to arrive before it ends
COMMAND = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
"""Commands, targets and measured states, for publishers, and for subscribers that use only the newest message."""
LATCHED = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""State that a subscriber needs even if it starts later: the last message is delivered to it."""
EVENTS = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)
"""Events, none of which should be lost: button presses, announcements, calibration answers, diagnostics. Also measured
joints, so that foreign ones do not replace the robot's own in the queue."""
SAMPLES = QoSProfile(depth=100, reliability=ReliabilityPolicy.RELIABLE)
"""For subscribers that need every sample of a topic: odometry, two seconds of joint and foot states; /tf."""
SCANS = QoSProfile(depth=5, reliability=ReliabilityPolicy.RELIABLE)
"""Laser scans as a simulator publishes them."""
SENSOR = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)
"""Third-party sensors: matches reliable and best-effort publishers."""
NEWEST_SENSOR = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
"""Third-party sensors, for subscribers that use only the newest sample."""
DISPLAY = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
"""Topics for display only: the newest message, best effort, so that a slow subscriber cannot block the publisher."""
LATCHED_HISTORY = QoSProfile(
    depth=20, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL
)
"""Latched state whose every change matters, such as the progress of a motion."""
LATCHED_TREE = QoSProfile(
    depth=100, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL
)
"""/tf_static, with the messages of all publishers."""


def recording(depth: int, *, reliable: bool, latched: bool) -> QoSProfile:
    """Returns the profile to record a topic or play it back, as its publishers offer it."""
    return QoSProfile(
        depth=depth,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )
