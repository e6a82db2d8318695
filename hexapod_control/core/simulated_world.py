# SPDX-License-Identifier: Apache-2.0
"""What page, launch files and command line may change in the simulated world."""

from hexapod_control.core.quantity import Quantity

WORLDS = (  # grounds of the simulation
    *("flat", "slope", "blocks", "bumps", "obstacles"),
    *("stairs", "gaps", "stones", "table", "course", "posts"),
)
FRICTION = Quantity("", 0.01, 5.0, "coefficient of sliding friction of every contact", 0.8)
SPEED_FACTOR = Quantity("", 0.05, 10.0, "factor on real time", 1.0)
PAYLOAD = Quantity("kg", 0.0, 20.0, "load fixed to the top of the body", 0.0)
