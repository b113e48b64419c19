"""The compiled fabric."""
