"""Outputs against expectations: rules, allowed sets, goldens."""
