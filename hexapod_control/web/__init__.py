"""The page: its static files, the HTTP and WebSocket server, and the sessions of its clients."""
