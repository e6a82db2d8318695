# SPDX-License-Identifier: Apache-2.0
"""The command `hexapod`: each subcommand parses its options, calls the packages below, and prints the result."""
