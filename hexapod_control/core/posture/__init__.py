"""Lying down, standing up, folding for transport, and taking over a robot that was found standing."""
