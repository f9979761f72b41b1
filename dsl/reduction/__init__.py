"""Edits that make a program smaller: passes over Python and PTX text, which `python -m dsl reductions` answers."""
