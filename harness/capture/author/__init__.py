"""An author's program as text: what some functions of it reach."""
