# SPDX-License-Identifier: Apache-2.0
"""The pages that ask: their files, and the server that answers their requests."""
