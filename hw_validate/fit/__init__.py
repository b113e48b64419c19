"""Fits a machine to measurements: small steps in a stated order, each from the points that isolate it.

`training` is the one door to the dataset: what is set aside does not pass it. `steps` lists the steps; a step
is worked out by `slopes` or `pair_table` in closed form, or by `least`, which simulates.
"""
