"""Every test run has a ROS of its own: no other graph on this machine or network is seen or disturbed."""

import os
import random

# Set at import, before any test module imports rclpy; the random number is the only unseeded one.
os.environ["ROS_DOMAIN_ID"] = str(random.SystemRandom().randrange(1, 100))
os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
os.environ["FASTDDS_BUILTIN_TRANSPORTS"] = "UDPv4"  # killed processes leave no shared memory behind
os.environ.setdefault("MUJOCO_GL", "egl")
