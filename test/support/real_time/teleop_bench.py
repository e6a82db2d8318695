# SPDX-License-Identifier: Apache-2.0
"""A gamepad driver and a robot for the tests of teleop."""

from geometry_msgs.msg import Twist as TwistMessage
from sensor_msgs.msg import Joy
from std_msgs.msg import String
from std_srvs.srv import Trigger
from support.real_time.ros_bench import overrides

from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.nodes.teleop.teleop import TeleopNode
from hexapod_control.ros import messages
from hexapod_control.ros.qos import EVENTS, LATCHED

L1, R1, A, B, Y, BACK, START = 9, 10, 0, 1, 3, 4, 6


TOP = Twist(0.2, 0.1, 1.0)


STOP = 0.5  # [s] until a command times out


LATE = 0.3  # [s] allowed for a loaded machine


class Pad:
    """A gamepad driver with autorepeat, like game_controller_node."""

    def __init__(self, bench, rate=20.0):
        self.bench = bench
        self.node = bench.probe
        self.publisher = bench.publisher(Joy, "joy", EVENTS)
        self.state = Joy(axes=[0.0] * 6, buttons=[0] * 21)
        self.timer = self.node.create_timer(1.0 / rate, self.send)

    def send(self):
        self.publisher.publish(self.state)

    def touch(self, *buttons, **axes):
        """Presses these buttons and moves these axes; the others are at rest."""
        names = dict(zip(("lx", "ly", "rx", "ry", "lt", "rt"), range(6), strict=True))
        self.state = Joy(axes=[0.0] * 6, buttons=[int(k in buttons) for k in range(21)])
        for name, value in axes.items():
            self.state.axes[names[name]] = value
        self.send()

    def tap(self, *buttons):
        """Taps buttons while the dead-man button is held."""
        self.touch(L1)
        self.touch(L1, *buttons)
        self.touch(L1)

    def remove(self):
        self.node.destroy_timer(self.timer)


class Robot:
    """The topics that teleop and the keyboard subscribe to, and a record of the services that it calls."""

    def __init__(self, bench):
        self.calls = []
        for name in ("stand", "sit", "stop"):
            bench.probe.create_service(Trigger, name, lambda request, response, n=name: self._take(n, response))
        publish = {
            topic: bench.publisher(kind, topic, LATCHED)
            for kind, topic in (
                (TwistMessage, "velocity_limits"),
                (String, "gaits"),
                (String, "gait_state"),
            )
        }
        publish["gaits"].publish(String(data="tripod,ripple,wave"))
        for topic in ("gait_selected", "gait_active"):  # a node reads one of them
            bench.publisher(String, topic, LATCHED, matched=0).publish(String(data="tripod"))
        publish["velocity_limits"].publish(messages.twist_message(TOP))
        self._state = publish["gait_state"]
        self.state("standing")

    def state(self, name):
        self._state.publish(String(data=name))

    def _take(self, name, response):
        self.calls.append(name)
        response.success = True
        return response


def teleop(bench, **parameters):
    return bench.add(TeleopNode(parameter_overrides=overrides(**parameters)))


def connected(node):
    """Whether a teleop node receives states of a gamepad."""
    return node.status()["gamepad"] == "connected"


def speeds(received):
    return [messages.twist(message) for message in received]
