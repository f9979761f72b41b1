"""What a launch may ask for, and what no GPU runs."""
