"""Programs as CUDA C++: one flow becomes one kernel."""

from hw_validate.lower.layout import Layout, Site, lay_out, wait_sites
from hw_validate.lower.source import DEFAULT_OPTIONS, WAIT_LIMIT, Options, kernel_source, kernel_text

__all__ = [
    "DEFAULT_OPTIONS",
    "WAIT_LIMIT",
    "Layout",
    "Options",
    "Site",
    "kernel_source",
    "kernel_text",
    "lay_out",
    "wait_sites",
]
