"""The ROS layer of the package: guarded nodes, parameters, messages, QoS and executor."""
