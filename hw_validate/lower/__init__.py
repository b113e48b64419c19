"""Programs as CUDA C++: one flow becomes one kernel."""

from hw_validate.lower.layout import Layout, Site, lay_out, wait_sites
from hw_validate.lower.source import WAIT_LIMIT, Options, kernel_source, kernel_text

__all__ = ["WAIT_LIMIT", "Layout", "Options", "Site", "kernel_source", "kernel_text", "lay_out", "wait_sites"]
