# SPDX-License-Identifier: Apache-2.0
"""Monitors that every node runs: QoS compatibility of its topics, and /clock; the identity of its node graph."""
