"""Drawings that are the same for all robots: on a stand, with the weight on the feet, walking."""

from __future__ import annotations

STAND = r"""
            .--------------------.
      o-----|        body        |-----o
     /      '--------------------'      \      all feet hang free
    o          |              |          o
     \         |     box      |         /
      o        |              |        o
  =====================================================  table
"""
WEIGHT = r"""
   first, on its belly                  then, slowly, on its feet
                                              .----------.
   o--.    .----------.    .--o          o----|   body   |----o
  /    '---|   body   |---'    \        /     '----------'     \
 o         '----------'         o      o            ^           o
  ==================================================|==========  floor
"""
WALK = r"""
     o      o                                    o      o
      \    /                                      \    /
   o---====---o    ->   two metres, free   ->  o---====---o
      /    \                                      /    \
     o      o                                    o      o
"""
