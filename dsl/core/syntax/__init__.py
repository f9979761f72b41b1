"""The author's text: source, liveness, early exits, and the rewriting of statements into hooks."""
