# SPDX-License-Identifier: Apache-2.0
"""One file per servo protocol; Dynamixel protocol 2 has two. `servos.protocol_registry` has the table of them."""
