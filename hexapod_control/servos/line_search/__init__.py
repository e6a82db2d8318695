"""Finds out what answers at a serial port: a quick look after a failure, and a sweep of all bauds and protocols."""
