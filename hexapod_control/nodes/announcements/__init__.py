# SPDX-License-Identifier: Apache-2.0
"""Announcements between nodes: which nodes run, and which command source is in use."""
