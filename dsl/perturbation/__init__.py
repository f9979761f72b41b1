"""Delays put into PTX, so that the threads of a program meet in other orders."""
