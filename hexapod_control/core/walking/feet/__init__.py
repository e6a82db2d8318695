"""Feet while walking: stance by integration, swings, drops to the ground, and the guard of stance regions."""
