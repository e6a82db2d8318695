"""Who may use the page, and who drives: tokens, connections, limits of messages, requests for control."""
