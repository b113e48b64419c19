"""Points measured before, once more: another day and another part, to know the spread between them.

The works are those of the plans that have them (the scaling study, the training points of the dataset, the
fan-out in one GPC), so a row of this plan joins the earlier ones by its hash.
"""

from __future__ import annotations

from hw_validate.bundle import Point
from hw_validate.plans import dataset, scaling, structure


def points() -> list[Point]:
    """List the points; none of them is set aside."""
    training = [point for point in dataset.points() if not point.tags.get("set_aside")]
    return [*scaling.points(), *training, *structure.fan_out_points()]
