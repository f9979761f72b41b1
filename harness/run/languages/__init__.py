"""Repros that are not Python, run by the runner; standard library and numpy only."""
