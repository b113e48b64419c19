"""The numbers of the GEMM template: what a user names, and what follows from it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from hoppersim.errors import InputError

VARIABLES = {
    "m": (4096, "rows of A and C"),
    "n": (4096, "rows of B, columns of C"),
    "k": (4096, "depth of the product"),
    "tile_m": (128, "rows of C that a CTA computes"),
    "tile_n": (128, "columns of C that a CTA computes"),
    "tile_k": (64, "depth of a stage [element]; 64 elements are a row of 128 bytes"),
    "cluster_rows": (2, "CTAs of a cluster that share a tile of B"),
    "cluster_columns": (2, "CTAs of a cluster that share a tile of A"),
    "stages": (4, "stages of the ring"),
    "compute": (512, "SM cycles of the product of one stage; as it is, what dense fp16 takes at its peak"),
}
"""What can be set: the value that it has else, and what it is."""
ELEMENT_BYTES = 2
PRODUCTS_PER_CYCLE = 2048
"""Multiplications of fp16 that the tensor cores of an SM do in a cycle: 989 TFLOPS of 132 SMs at 1.83 GHz."""
LARGEST, MOST_CTAS = 2**20, 16


def gemm_numbers(settings: Sequence[str]) -> dict[str, object]:
    """Work out all numbers of the template.

    Parameters
    ----------
    settings
        Variables that are not to have their usual value, as ``name=value``.

    Returns
    -------
    dict of str to object
        By the names of the template's places.

    Raises
    ------
    InputError
        If a variable does not exist, is no whole number from 1 on, or does not divide what it has to.
    """
    given = dict(map(_setting, settings))
    v = {name: value for name, (value, _) in VARIABLES.items()} | given
    if "compute" not in given:
        v["compute"] = -(-v["tile_m"] * v["tile_n"] * v["tile_k"] // PRODUCTS_PER_CYCLE)
    _check(v)
    rows, columns = v["cluster_rows"], v["cluster_columns"]
    ranks = [(rank // columns, rank % columns) for rank in range(rows * columns)]
    a_rows, b_rows = v["tile_m"] // columns, v["tile_n"] // rows
    row_bytes = v["tile_k"] * ELEMENT_BYTES
    row_masks = [sum(1 << columns * row + other for other in range(columns)) for row, _ in ranks]
    column_masks = [sum(1 << columns * other + column for other in range(rows)) for _, column in ranks]
    a_bytes, b_bytes = v["tile_m"] * row_bytes, v["tile_n"] * row_bytes
    return {
        **v,
        "variables": "\n".join(f"{name} = {v[name]}  # {about}" for name, (_, about) in VARIABLES.items()),
        "k_steps": v["k"] // v["tile_k"],
        "a_bytes": a_bytes,
        "b_bytes": b_bytes,
        "stage_bytes": a_bytes + b_bytes,
        "a_rows": a_rows,
        "b_rows": b_rows,
        "swizzle": row_bytes if row_bytes in (32, 64, 128) else 0,
        "partners": rows + columns - 1,
        "cluster_m": rows * v["tile_m"],
        "a_firsts": [v["tile_m"] * row + a_rows * column for row, column in ranks],
        "b_firsts": [v["tile_n"] * column + b_rows * row for row, column in ranks],
        "a_offsets": [a_rows * row_bytes * column for _, column in ranks],
        "b_offsets": [b_rows * row_bytes * row for row, _ in ranks],
        "a_mask": _mask(columns, row_masks),
        "b_mask": _mask(rows, column_masks),
        "partner_masks": [row | column for row, column in zip(row_masks, column_masks, strict=True)],
        "a_total": v["m"] * v["k"] * ELEMENT_BYTES,
        "b_total": v["n"] * v["k"] * ELEMENT_BYTES,
    }


def _mask(sharers: int, masks: list[int]) -> str:
    """Write the mask of a load that several CTAs share; one that nobody shares is no multicast."""
    return f", mask = {{by_rank = {masks}}}" if sharers > 1 else ""


def _setting(text: str) -> tuple[str, int]:
    """Read one ``name=value``."""
    name, _, value = (part.strip() for part in text.partition("="))
    if name not in VARIABLES:
        near = get_close_matches(name, VARIABLES, n=1, cutoff=0.0)
        raise InputError("--with", text, f"must be NAME=VALUE, the name one of {', '.join(VARIABLES)}", *near)
    if not re.fullmatch(r"\d{1,18}", value) or not 1 <= int(value) <= LARGEST:
        raise InputError(name, value, f"must be a whole number from 1 to {LARGEST}", VARIABLES[name][0])
    return name, int(value)


def _check(v: Mapping[str, int]) -> None:
    """Refuse clusters that are too large, and sizes that do not divide into each other."""
    if v["cluster_rows"] * v["cluster_columns"] > MOST_CTAS:
        most = max(1, MOST_CTAS // v["cluster_columns"])
        rule = f"with {v['cluster_columns']} columns a cluster would have more than {MOST_CTAS} CTAs"
        raise InputError("cluster_rows", v["cluster_rows"], rule, most)
    parts = {
        "k": ("tile_k", v["tile_k"]),
        "tile_m": ("cluster_columns", v["cluster_columns"]),
        "tile_n": ("cluster_rows", v["cluster_rows"]),
        "m": ("cluster_rows x tile_m", v["cluster_rows"] * v["tile_m"]),
        "n": ("cluster_columns x tile_n", v["cluster_columns"] * v["tile_n"]),
    }
    for name, (unit, size) in parts.items():
        if v[name] % size:
            nearest = max(1, v[name] // size) * size
            raise InputError(name, v[name], f"must be a multiple of {unit} = {size}", nearest)
