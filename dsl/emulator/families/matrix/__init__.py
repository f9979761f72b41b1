"""Matrices of a warp: mma, ldmatrix, stmatrix, movmatrix. PTX ISA 9.7.14."""
