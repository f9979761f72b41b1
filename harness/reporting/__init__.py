"""Texts for people: texts of verdicts, the report page, the table of releases."""
