"""One ROS 2 package that makes any hexapod walk. Imports only go down, from cli to core (docs/architecture.md)."""
