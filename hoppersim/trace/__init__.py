"""Traces: what happened in a run, written down while it ran, in Perfetto's native format."""
