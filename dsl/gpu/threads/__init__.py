"""Which thread this is, and how threads meet."""
