# SPDX-License-Identifier: Apache-2.0
"""One emulated device per servo protocol."""
