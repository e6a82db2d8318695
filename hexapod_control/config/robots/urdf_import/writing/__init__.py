# SPDX-License-Identifier: Apache-2.0
"""Output of an import: robot file, joint mapping, report and drawings."""
