# SPDX-License-Identifier: Apache-2.0
"""The planner: a state machine that handles requests and returns one plan per tick."""
