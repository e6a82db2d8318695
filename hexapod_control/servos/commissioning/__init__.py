# SPDX-License-Identifier: Apache-2.0
"""Commissioning of a new robot in stages, from the stand to a slow walk; a stage can be repeated and resumed."""
