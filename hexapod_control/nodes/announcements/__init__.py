"""Announcements between nodes: which nodes run, and which command source is in use."""
