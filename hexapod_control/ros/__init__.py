"""The ROS layer of all programs of the package: guarded nodes, parameters, messages, QoS and executor."""
