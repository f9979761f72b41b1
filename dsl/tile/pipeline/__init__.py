"""Pipelines of stages, and what threads meet by."""
