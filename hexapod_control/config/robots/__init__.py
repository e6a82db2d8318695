# SPDX-License-Identifier: Apache-2.0
"""Robot files: reading and checking them, and the URDF and Nav2 parameters generated from them."""
