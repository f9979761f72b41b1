"""Rewrites of a module between two stages."""
