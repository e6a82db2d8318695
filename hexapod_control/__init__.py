# SPDX-License-Identifier: Apache-2.0
"""One ROS 2 package that makes any hexapod walk. Imports only go down, from cli to core (docs/architecture.md)."""

import os

# All matrices here are small: the threads of OpenBLAS would only make each program start slower. Read when numpy loads.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
