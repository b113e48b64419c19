"""What a run says: counters, rates, limiter, bounds and files."""
