# SPDX-License-Identifier: Apache-2.0
"""Times, shares and counts after which the driver warns, holds, sits or gives up: a change of one is a decision."""

import pytest

from hexapod_control.servos.bus import pulse_board, transaction
from hexapod_control.servos.driver import (
    boards,
    bus_connection,
    bus_thread,
    driver,
    monitors,
    presence,
    servo_group,
    servo_health,
    servo_readings,
    snapshot_builder,
    target_follower,
    torque_switch,
    watches,
)

DECIDED = {
    pulse_board: "REPLY_TIMEOUT_S=0.03 TRY_TIMEOUT_S=0.25 LATE_WINDOW_S=0.3 DRAIN_TIME_S=0.1",
    transaction: """
        LATE_MEMORY_S=1.0 MAX_LATE_WAIT_S=0.25 LATE_PROBE_WAIT_S=0.04 LATE_PROBE_WINDOW_S=1.0 MIN_UNANSWERED=3
        MAX_WAIT_S=0.1 URGENT_CHECK_S=0.005 MAX_ABANDONED=20 MAX_AGE_S=0.5
    """,
    torque_switch: "HOLDING_LEG_PAUSE_S=0.05 MOVING_LEG_PAUSE_S=0.2",
    bus_connection: "MIN_BACK_OFF_S=0.02 MAX_BACK_OFF_S=2.0",
    bus_thread: "ANSWER_TIMEOUT_S=5.0 OVERRUN_SHARE=0.5",
    driver: """
        GOAL_CYCLES=1.25 READ_SHARE=0.8 MAX_EVENTS=64 UNPLUGGED_ANSWER_TIMEOUT_S=0.5 MIN_LINEAR_RATE_HZ=60.0
    """,
    snapshot_builder: "RATE_WINDOW_S=1.0 MAX_EXTRAPOLATION_S=0.04 MAX_COMMANDED_S=0.5 DIAGNOSIS_PERIOD_S=0.1",
    boards: "SERVOS_AT_ONCE=3 PAUSE_S=0.2 QUERY_PERIOD_S=0.1 MIN_SILENCE_S=1.0",
    servo_readings: """
        MAX_HEALTH_RATE_HZ=3.0 MAX_HEALTH_SHARE=0.08 BROWN_OUT_SHARE=0.5 SUPPLY_PERIOD_S=0.4
        HISTORY=25 SHARE_PER_CYCLE=0.25
    """,
    watches: "ROTATION_S=1.5 MAX_PER_CYCLE=2",
    presence: "QUARANTINE_MISSES=3 PING_PERIOD_S=1.0 FIRST_PING_S=0.2 ALLOWED_CYCLES=2.0",
    servo_group: "READ_TRIES=3 MAX_ROUNDS=10 QUIET_CYCLES=3.0 MIN_QUIET_S=0.1 SCHEDULING_SLACK_S=0.02",
    monitors: """
        MAX_RETRIES=3 RETRY_WINDOW_S=300.0 SIT_TIMEOUT_S=10.0 MAX_WARN_DELAY_S=0.5
        FILTER_TIME_S=0.25 BATTERY_HYSTERESIS=0.3 DEFAULT_WARN_SHARE=0.875 DEFAULT_CRITICAL_SHARE=0.73
        HEAT_WARNING_MARGIN=10.0 HEAT_HYSTERESIS=5.0 HOT_SPEED_SHARE=0.7
        WINDOW_S=0.3 LATE_SHARE=0.5 NOISE_SHARE=0.01 MIN_CORRUPT=2 NOISE_LIMIT=0.1 NOISE_WINDOWS=2 CLEAR_WINDOWS=3
        MIN_REPORTED_PAUSE_S=0.2 PAUSE_REPORT_S=5.0
    """,
    servo_health: "MANY_SILENT_S=0.15 ALL_SILENT_S=0.2 LEG_LOST_S=3.0 MAX_LISTED_SERVOS=3 MIN_GARBLED_PINGS=3",
    target_follower: """
        SPEED_MARGIN=1.05 MAX_STEP_S=0.1 REJOIN_TIME_S=1.0 REJOIN_SPEED_SHARE=0.3 ARMING_RAMP_S=1.0
        PERIOD_BOUNDS_S=(0.002,0.05) MIN_MOVING_SPEED=0.05 MIN_MOVING_STEP=0.02 TARGET_TIMEOUT_S=0.2
    """,
}


@pytest.mark.parametrize("module", DECIDED, ids=lambda module: module.__name__.rpartition(".")[2])
def test_times_shares_and_counts_are_those_that_were_decided(module):
    for item in DECIDED[module].split():
        name, _, value = item.partition("=")
        assert str(getattr(module, name)).replace(" ", "") == value, name
