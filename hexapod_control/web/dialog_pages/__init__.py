"""The pages that ask: their files, and the server that answers their requests."""
