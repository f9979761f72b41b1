"""Errors in TIRx's words, and names that are refused."""
