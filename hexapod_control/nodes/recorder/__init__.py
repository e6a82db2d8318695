"""Recorder of bags, and player that publishes them again."""
