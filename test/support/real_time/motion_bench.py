# SPDX-License-Identifier: Apache-2.0
"""A client that plays motions on a planner over DDS and records their states."""

from pathlib import Path

from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import String

from hexapod_control.config.motion_file import request

ALL = QoSProfile(depth=200, durability=DurabilityPolicy.TRANSIENT_LOCAL)
BREATH = "  - pose: {z: 0.01, duration: 0.6}\n  - pose: {duration: 0.6}\n"
NOD = "  - pose: {pitch_deg: 4, duration: 0.6}\n  - pose: {duration: 0.6}\n"


class Motions:
    """Plays motions on a planner and records motion_state and gait_state."""

    def __init__(self, bench, folder, **parameters):
        self.bench, self.folder = bench, folder
        self.node = bench.planner(**parameters)
        self.topic = bench.publisher(String, "motion")
        self.motion_states = bench.listen(String, "motion_state", ALL)
        self.gait_states = bench.listen(String, "gait_state", ALL)

    def write(self, name, steps, **head):
        lines = [f"{key}: {value}" for key, value in {"name": name, "description": "For a test.", **head}.items()]
        path = self.folder / f"{name}.yaml"
        path.write_text("\n".join([*lines, "steps:\n"]) + steps)
        return path

    def play(self, what):
        """Requests a motion by name, or the content of a file."""
        asked = request(str(what))[0].data if isinstance(what, Path) else what
        self.topic.publish(String(data=asked))

    def reported(self, text):
        return any(message.data.startswith(text) for message in self.motion_states)

    def until(self, text, seconds=6.0):
        self.bench.until(
            lambda: self.reported(text), seconds, f"{text}; received {[m.data for m in self.motion_states][-5:]}"
        )
