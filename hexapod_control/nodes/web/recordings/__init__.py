# SPDX-License-Identifier: Apache-2.0
"""Recordings made from the page: the last minute in memory, bags of any length, their list, tables and replays."""
