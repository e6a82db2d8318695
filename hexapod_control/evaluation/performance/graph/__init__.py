"""Measures CPU time and latency of the running node graph, for one robot and for several."""
