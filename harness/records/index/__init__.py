"""The record, indexed."""
