"""Studies: one file each. A module in this package that defines ``STUDY`` is found by its name."""
