"""Reasons why nothing orders two accesses: flags and mbarriers that seem to, and what they lack."""
