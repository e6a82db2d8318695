"""One folder per ROS node: it converts messages to numbers, calls core, and publishes the result."""
