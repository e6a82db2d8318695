# SPDX-License-Identifier: Apache-2.0
"""The services that switch the torque: what each asks of the hardware, answers and reports."""

from std_srvs.srv import SetBool, Trigger
from support.kits.plain_node import PlainNode

from hexapod_control.core.refusal import Refusal
from hexapod_control.nodes.servo_driver.torque_services import ArmedTopic, TorqueServices
from hexapod_control.ros.guarded_node import ReportLevel

AGAIN = "run hexapod reset, then hexapod arm"


class Torque:
    """Hardware that records its calls; `reason` is its refusal."""

    def __init__(self):
        self.asked, self.reason, self.latched = [], None, False

    def release_estop(self):
        self.asked.append("release_estop")

    def __getattr__(self, name):
        return lambda: self.asked.append(name) or self.reason


def made():
    node, torque = PlainNode(), Torque()
    TorqueServices(node, torque)
    return node, torque


def answer(node, service, request=None):
    response = node.call(service, request or Trigger.Request())
    return response.success, response.message


def test_every_service_asks_the_hardware_and_succeeds_if_that_has_no_objection():
    node, torque = made()
    assert answer(node, "arm") == (True, "torque is on")
    assert answer(node, "disarm") == (True, "torque is off")
    assert answer(node, "reset_fault") == (True, "no fault; hexapod arm switches the torque on")
    assert torque.asked == ["arm", "disarm", "reset_fault"] and not node.reports


def test_a_refusal_of_the_hardware_is_answered_and_a_torque_that_stays_off_reported():
    node, torque = made()
    torque.reason = Refusal("hot", "it is hot")
    assert answer(node, "arm") == (False, "it is hot")
    assert node.report_of("arm") == (ReportLevel.WARNING, "not armed: it is hot")
    assert answer(node, "disarm") == (False, "torque-off could not be sent: it is hot")
    assert answer(node, "reset_fault") == (False, "it is hot")


def test_a_reset_ends_the_reports_of_errors_that_are_past():
    node, _ = made()
    node.report("battery", ReportLevel.ERROR, "the battery is empty")
    node.report("latency", ReportLevel.WARNING, "a slow adapter")
    answer(node, "reset_fault")
    assert node.report_of("latency") and not node.report_of("battery")


def test_arming_withdraws_the_report_that_the_torque_is_off():
    node, torque = made()
    node.report("torque", ReportLevel.WARNING, "torque is off: run hexapod arm")
    torque.reason = Refusal("hot", "it is hot")
    answer(node, "arm")
    assert node.report_of("torque")
    torque.reason = None
    answer(node, "arm")
    assert not node.report_of("torque")


def test_an_emergency_stop_is_reported_as_an_error_whether_or_not_it_could_be_sent():
    node, torque = made()
    text = f"torque is off and stays off: {AGAIN}"
    assert answer(node, "estop", SetBool.Request(data=True)) == (True, text)
    assert node.report_of("torque") == (ReportLevel.ERROR, f"emergency stop: {text}")
    torque.reason = Refusal("port", "no port")
    text = "latched, but torque-off could not be sent: no port; cut the servos' power"
    assert answer(node, "estop", SetBool.Request(data=True)) == (False, text)
    assert node.report_of("torque") == (ReportLevel.ERROR, f"emergency stop: {text}")
    assert torque.asked == ["press_estop"] * 2


def test_the_release_of_an_emergency_stop_names_what_comes_next_if_it_is_latched():
    node, torque = made()
    assert answer(node, "estop", SetBool.Request(data=False)) == (True, "was not pressed")
    torque.latched = True
    assert answer(node, "estop", SetBool.Request(data=False)) == (True, "released; run hexapod reset, then hexapod arm")
    assert torque.asked == ["release_estop"] * 2 and not node.reports


def test_armed_is_published_when_it_changes():
    node = PlainNode()
    armed = ArmedTopic(node)
    for holds in (False, False, True, True, False):
        armed.show(holds)
    assert [message.data for message in node.sent("armed")] == [False, True, False]
