"""Making a program smaller while it keeps a property; what a program is, only the passes know."""
