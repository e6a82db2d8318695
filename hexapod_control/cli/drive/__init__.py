"""The subcommands that drive a running robot: gamepad, keyboard, motions, patrols."""
