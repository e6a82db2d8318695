# SPDX-License-Identifier: Apache-2.0
"""Choreographed motions: their steps, their rehearsal and their execution on the planner."""
