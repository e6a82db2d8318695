"""The node teleop: joy in, velocity, pose and posture commands out."""
