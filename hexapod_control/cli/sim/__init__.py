"""The subcommand `hexapod sim`: a robot in simulation, with a scripted demonstration and its film."""
