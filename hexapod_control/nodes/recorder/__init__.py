"""The recorder of bags and the player that publishes them again."""
