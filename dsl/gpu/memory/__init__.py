"""Loads, stores, atomics and copies."""
