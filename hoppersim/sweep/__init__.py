"""Design-space exploration: a study varies parameters of a machine and of a work, and compares the points.

Data flows one way: a `Sweep` (what to vary) gives a plan (every point checked, each with a key), the plan
gives outcomes (simulated in several processes, or kept from an earlier run), and the outcomes give rows.
"""

from hoppersim.sweep.files import load_sweep
from hoppersim.sweep.runner import run_sweep
from hoppersim.sweep.study import Sweep
from hoppersim.sweep.table import SweepResult

__all__ = ["Sweep", "SweepResult", "load_sweep", "run_sweep"]
