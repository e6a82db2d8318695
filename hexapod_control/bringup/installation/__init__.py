# SPDX-License-Identifier: Apache-2.0
"""Sets up the computer of a robot: a table of steps that check and edit files, and a record to undo the edits."""
