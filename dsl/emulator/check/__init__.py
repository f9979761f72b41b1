"""Checkers: each file finds one kind of mistake and says where."""
