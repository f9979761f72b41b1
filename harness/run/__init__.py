"""Running one case: supervisor, runner, transport, reply, result."""
