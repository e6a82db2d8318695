# SPDX-License-Identifier: Apache-2.0
"""`hexapod robot` and the program that runs all nodes of a robot in one process."""
