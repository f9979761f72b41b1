"""Matrices of a warp whose fragments have no stated layout: wmma. PTX ISA 9.7.14.4."""
