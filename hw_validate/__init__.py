"""Run the simulator's programs on a real Hopper GPU, and compare."""
