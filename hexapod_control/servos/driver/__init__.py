# SPDX-License-Identifier: Apache-2.0
"""The thread that drives the servos: arming, command limits, telemetry, faults."""
