"""Hosts: SSH connections, agents, environments, settings, releases of compilers."""
