"""The commands `repro record ...`: questions to the record."""
