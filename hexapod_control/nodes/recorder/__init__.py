"""The node recorder, which writes bags, and the player that publishes them again."""
