# SPDX-License-Identifier: Apache-2.0
"""The queue of page commands: a stop overtakes all others, and nothing from before it moves the robot."""

import pytest

from hexapod_control.nodes.web.command_queue import MAX_WAITING, CommandQueue
from hexapod_control.web.protocol import DriveMessage, PlayMessage, PoseMessage, QueryMessage, RequestMessage
from hexapod_control.web.sessions.client_sessions import Forward


def taken(queue):
    found = []
    while (command := queue.take()) is not None:
        found.append(command.body)
    return found


@pytest.mark.parametrize("what", ["stop", "estop"])
def test_a_stop_is_taken_first_and_what_would_move_the_robot_before_it_is_void(what):
    queue, zero, question, stop = CommandQueue(), DriveMessage(False), QueryMessage("urdf"), RequestMessage(what)
    moving = [DriveMessage(True, 1.0), PoseMessage(z=0.01), PlayMessage("bow"), RequestMessage("stand")]
    moving += [RequestMessage("rearm")]
    for body in (*moving, question, zero, stop, RequestMessage("sit")):
        queue.put(Forward(1, body))
    assert taken(queue) == [stop, question, zero, RequestMessage("sit")]


def test_commands_keep_their_order_and_a_full_queue_still_takes_a_stop():
    queue, commands = CommandQueue(), [DriveMessage(True, i / MAX_WAITING) for i in range(1, MAX_WAITING + 5)]
    for body in commands:
        queue.put(Forward(1, body))
    assert taken(queue) == commands[:MAX_WAITING]
    for body in (*commands, RequestMessage("estop")):
        queue.put(Forward(1, body))
    assert taken(queue) == [RequestMessage("estop")]
