"""Measurement plans: for each question, the points that answer it."""
