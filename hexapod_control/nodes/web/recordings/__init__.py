"""Recordings made from the page: the last minute in memory, bags of any length, their list, tables and replays."""
