# SPDX-License-Identifier: Apache-2.0
"""The body over the feet: pose, levelling, and recovery of the static margin."""
