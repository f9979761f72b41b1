"""The sums of products that tensor cores make, and which lane has which element."""
