# SPDX-License-Identifier: Apache-2.0
"""The subcommands that record runs as bags and replay them."""
