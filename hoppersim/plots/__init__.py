"""Figures of the studies: one file each, named like its study, with a function ``draw``."""
