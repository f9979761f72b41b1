"""One connection and one agent for each host."""
