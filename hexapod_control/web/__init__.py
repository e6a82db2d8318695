# SPDX-License-Identifier: Apache-2.0
"""The page for the browser: static files, HTTP and WebSocket server, and client sessions."""
