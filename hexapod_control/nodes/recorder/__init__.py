# SPDX-License-Identifier: Apache-2.0
"""The node recorder, which writes bags, and the player, which publishes their messages again."""
