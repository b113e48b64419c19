"""Time: the processes of a run, the fabrics that carry lines, and the barriers between the two."""
