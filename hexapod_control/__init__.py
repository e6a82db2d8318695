"""One ROS 2 package that makes any hexapod walk. Imports go one way, from cli down to core (docs/architecture.md)."""
