# SPDX-License-Identifier: Apache-2.0
"""The ROS layer of the package: guarded nodes, parameters, messages, QoS and executor."""

import sys

# With the first message, rosidl_generator_py would load the generator of message classes and its parser, which take 8 %
# of the start of a node. Only builds need them; rosidl_generator_py works without a generator that cannot be imported.
sys.modules.setdefault("rosidl_generator_py.generate_py_impl", None)  # type: ignore[arg-type]
