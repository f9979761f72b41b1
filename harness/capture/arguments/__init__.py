"""Values of a call as Python text, and their memory."""
