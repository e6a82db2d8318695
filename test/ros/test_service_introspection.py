# SPDX-License-Identifier: Apache-2.0
"""Service introspection on real DDS."""

import pytest
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from std_srvs.srv import Trigger
from support.real_time.ros_bench import overrides

from hexapod_control.nodes.odometry.odometry import OdometryNode
from hexapod_control.ros.parameters import ParameterError
from hexapod_control.ros.qos import EVENTS

SERVICE = "odometry/reset_odometry"


def test_calls_of_a_service_are_events_from_the_start_or_once_they_are_wanted_until_they_are_not(bench):
    node = bench.add(OdometryNode(parameter_overrides=overrides(service_introspection="metadata")))
    events = bench.listen(Trigger.Event, f"{SERVICE}/_service_event", EVENTS)

    def called(state):
        change = SetParameters.Request(parameters=[Parameter("service_introspection", value=state).to_parameter_msg()])
        assert bench.call(SetParameters, "odometry/set_parameters", change).results[0].successful
        events.clear()
        bench.call(Trigger, SERVICE)

    bench.until(lambda: node.get_publishers_info_by_topic(f"/{SERVICE}/_service_event"), what="the topic")
    bench.call(Trigger, SERVICE)
    bench.until(lambda: len(events) == 2, what="a request and its response")
    assert not events[-1].response
    called("contents")
    bench.until(lambda: len(events) == 2 and events[-1].response, what="the contents of the response")
    assert events[-1].response[0].success
    called("disabled")
    called("contents")  # had there been events in between, they would have come first
    bench.until(lambda: len(events) == 2, what="events of the last call")


def test_an_unknown_kind_of_introspection_is_refused(bench):
    with pytest.raises(ParameterError, match="service_introspection: must be one of disabled, metadata, contents"):
        OdometryNode(parameter_overrides=overrides(service_introspection="all"))
