"""The commands `repro golden ...`: results that wait, and the goldens they become."""
