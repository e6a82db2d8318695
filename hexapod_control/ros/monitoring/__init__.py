"""What every node watches while it runs: the QoS of its topics, and /clock."""
