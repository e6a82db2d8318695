"""TFMessage for ROS installations without tf2_msgs; to be deleted when the ROS wheels have it."""
