"""The hardware blocks: for each, what it decides for a line, what it keeps, and what it leaves out."""
