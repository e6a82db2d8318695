"""The node recorder, which writes bags, and the player, which publishes their messages again."""
