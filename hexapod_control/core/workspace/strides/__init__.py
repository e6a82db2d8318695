"""Where the legs stride for each direction of motion: the centres of their strides, found once per robot."""
