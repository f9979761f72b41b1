"""What people read: texts of verdicts, the report page, the table of releases."""
