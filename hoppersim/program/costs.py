"""The keys under which a machine states what an operation costs the thread that performs it.

A key names the operation, the width of the role and the form: ``arrive.lane.remote.cluster.issue``.
`issue` is the time that the thread is busy, `effect` the time from then until others can see it,
`next` what each further one of an unrolled loop takes, `start` what such a loop takes beside them,
`next` what a load right behind another takes, `wrap` what it takes longer if its address steps with a wrap,
`packet` what each further line of such an instruction of a warp takes,
`mask.lane.issue` what it takes to find the first rank of a mask that is not a constant,
`after_tma` what a timed spin takes longer right after a load or copy was issued,
`nested` what a trip of a loop takes longer that stands within another,
`by_place` what it takes longer where the compiler reads the CTA's place again for the address of a load,
`hit` a wait that finds its phase complete, `wake` the time from the flip until the waiter goes on.
"""

from __future__ import annotations

from itertools import product

from hoppersim.program.operations import (
    Arrive,
    ExpectTx,
    Fence,
    For,
    Operation,
    Stamp,
    Sync,
    TmaLoad,
    TmaStore,
    Wait,
)

WIDTHS = ("lane", "warp", "warps")
RELEASES = ("cta", "cluster", "relaxed")


def cost_stem(operation: Operation, width: str) -> str:
    """Give the key of an operation without its last part."""
    match operation:
        case Wait(form=form):
            return f"wait.{width}.{form}"
        case Arrive(to=to, release=release):
            return f"arrive.{width}.{'local' if to is None else 'remote'}.{release}"
        case ExpectTx(to=to):
            return f"expect_tx.{width}.{'local' if to is None else 'remote'}"
        case TmaLoad(mask=mask):
            return f"tma_load.{width}.{'self' if mask is None else 'multicast'}"
        case For():
            return f"loop.{width}"
        case Sync(scope=scope, form=form):
            return f"sync.{scope}.{form}"
        case Fence(kind=kind):
            return f"fence.{kind}"
        case Stamp():
            return "stamp"
        case TmaStore():
            return f"tma_store.{width}"
        case _:
            return f"{type(operation).__struct_config__.tag}.{width}"


def all_keys() -> tuple[str, ...]:
    """List every key that a machine must define."""
    keys = ["stamp.issue"]
    for width in WIDTHS:
        keys += [f"wait.{width}.{form}.{part}" for form in ("try", "test") for part in ("hit", "wake")]
        keys += [
            f"arrive.{width}.{place}.{release}.{part}"
            for place, release, part in product(("local", "remote"), RELEASES, ("issue", "effect"))
        ]
        keys += [f"expect_tx.{width}.{place}.issue" for place in ("local", "remote")]
        keys += [
            f"tma_load.{width}.{form}.{part}"
            for form, part in product(("self", "multicast"), ("issue", "next", "wrap"))
        ]
        keys += [f"loop.{width}.{part}" for part in ("nested", "by_place")]
        keys += [
            f"{name}.{width}.issue"
            for name in ("loop", "compute", "tma_store", "store_wait", "bulk_copy", "st_async")
        ]
        keys += [f"{name}.{width}.issue" for name in ("remote_ld", "remote_st", "local_read")]
        keys += [f"{name}.{width}.next" for name in ("remote_ld", "remote_st", "st_async")]
        keys += [f"st_async.{width}.start", f"st_async.{width}.packet", f"compute.{width}.after_tma"]
        keys += [f"mask.{width}.issue"]
    keys += [
        f"sync.{scope}.{form}.issue" for scope in ("warp", "role", "cta") for form in ("acq_rel", "relaxed")
    ]
    keys += [
        f"sync.cluster.{form}.{part}" for form in ("acq_rel", "relaxed") for part in ("issue", "per_warp")
    ]
    keys += [
        f"fence.{kind}.issue" for kind in ("mbarrier_init", "proxy_async", "acq_rel_cta", "acq_rel_cluster")
    ]
    return tuple(sorted(keys))
