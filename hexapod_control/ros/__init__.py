"""What all ROS programs of the package share: guarded nodes, parameters, messages, QoS and executor."""
