"""Which output tile a cluster of a persistent kernel takes next."""
