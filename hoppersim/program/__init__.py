"""Programs as data: what CTAs do, its files, its identity, its rules, and builders of common programs.

The names below are the language. A flow of a producer and a consumer, in ten lines:

>>> from hoppersim.program import *
>>> rows = Affine(cluster=6400, loops={"i": 64}, wrap=2**20)
>>> fill = (Wait("free", "free"), ExpectTx("full", 8192), TmaLoad("tiles", (0, rows), "tile", "full"))
>>> work = make_work(
...     "stream",
...     roles=(
...         Role("load", (For(100, fill, 4),)),
...         Role("use", (For(100, (Wait("full"), Arrive("free")), 4),)),
...     ),
...     buffers=(Buffer("tile", 8192, 4),),
...     barriers=(Barrier("full", 1, 4), Barrier("free", 1, 4)),
...     maps=(TensorMap("tiles", "data", dims=(64, 2**20), box=(64, 64)),),
... )
>>> work.flows[0].program.threads
64
"""

from hoppersim.program.operations import (
    Affine,
    Arrive,
    BulkCopy,
    Compute,
    Exit,
    ExpectTx,
    Fence,
    For,
    LocalRead,
    Operand,
    Operation,
    RemoteLoad,
    RemoteStore,
    Stamp,
    StAsync,
    StoreWait,
    Sync,
    TmaLoad,
    TmaStore,
    Wait,
)
from hoppersim.program.work import (
    Allocation,
    Barrier,
    Buffer,
    Flow,
    Launch,
    Program,
    Role,
    SmSet,
    TensorMap,
    Work,
    make_work,
)

__all__ = [
    "Affine",
    "Allocation",
    "Arrive",
    "Barrier",
    "Buffer",
    "BulkCopy",
    "Compute",
    "Exit",
    "ExpectTx",
    "Fence",
    "Flow",
    "For",
    "Launch",
    "LocalRead",
    "Operand",
    "Operation",
    "Program",
    "RemoteLoad",
    "RemoteStore",
    "Role",
    "SmSet",
    "StAsync",
    "Stamp",
    "StoreWait",
    "Sync",
    "TensorMap",
    "TmaLoad",
    "TmaStore",
    "Wait",
    "Work",
    "make_work",
]
