"""What a tick, the node graph, the servo bus and the page cost."""
