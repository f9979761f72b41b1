"""Edits that findings propose: what to insert or replace, at which line of the author's file or of the PTX text."""
