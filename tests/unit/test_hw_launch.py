"""Points on a device that only pretends: grids, sets of SMs, cold starts, hangs, data checks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from hoppersim.program.cases import Case, build_case
from hoppersim.program.work import SmSet
from hw_validate.bundle import Point, make_bundle
from hw_validate.driver import Shape
from hw_validate.launch import FLUSH_BYTES, Session

GROUPS = [list(range(8)), list(range(8, 16))]


class Pretender:
    """A device with 16 SMs whose kernels write plausible records."""

    stream = "stream"

    def __init__(self, hang: bool = False) -> None:
        self.memory: dict[int, NDArray[np.uint8]] = {}
        self.launched: list[tuple[str, Shape]] = []
        self.zeroed: list[int] = []
        self.hang = hang
        self.checks: dict[tuple[int, int], int] = {}

    def load(self, image: bytes) -> str:
        return "module"

    def function(self, module: str, name: str, shared_bytes: int = 0) -> str:
        return name

    def attribute(self, name: str) -> int:
        return {"MULTIPROCESSOR_COUNT": 16}.get(name, 232448)

    def max_clusters(self, function: str, shape: Shape) -> int:
        return 16 // int(np.prod(shape.cluster))

    def allocate(self, size: int) -> int:
        address = (1 + len(self.memory)) << 32
        self.memory[address] = np.zeros(min(size, 2**20), np.uint8)
        return address

    def free(self, address: int) -> None:
        self.memory.pop(address, None)

    def zero(self, address: int, size: int) -> None:
        self.zeroed.append(size)

    def write(self, address: int, array: NDArray[Any]) -> None:
        self.memory[address][: array.nbytes] = array.view(np.uint8)

    def tensor_map(self, spec: dict[str, Any], address: int) -> bytes:
        return bytes(128)

    def event(self) -> int:
        return 0

    def elapsed(self, begin: int, end: int) -> float:
        return 1.0

    def wait(self, limit: float, stream: Any = None) -> None:
        return None

    def launch(self, function: str, shape: Shape, parameters: Sequence[Any], stream: Any = None) -> None:
        self.launched.append((function, shape))

    def read(self, address: int, shape: tuple[int, int], dtype: Any) -> NDArray[Any]:
        words = np.zeros(shape, np.uint64)
        for cta in range(shape[0]):
            words[cta, 0] = 1 << 32 | cta
            for warp in range((shape[1] - 4) // 8):
                words[cta, 4 + 8 * warp : 8 + 8 * warp] = 1000, 3000 + cta, 500, 1500
        if self.hang:
            words[1, 4 + 8 + 4] = 1 << 63 | 1 << 32 | 2 << 8 | 1
            words[1, 4 + 8 + 5] = 17
        for (cta, warp), value in self.checks.items():
            words[cta, 4 + 8 * warp + 6] = value
        return words


def session_of(case: Case, folder: Path, device: Pretender, **point: Any) -> tuple[Session, dict[str, Any]]:
    """Make a bundle of one case and a session on the pretended device."""
    plan = json.loads(make_bundle([Point(build_case(case), "p", repeats=3, **point)], folder).read_text())
    return Session(device, folder, plan, GROUPS), plan["points"][0]  # type: ignore[arg-type]


SMALL: dict[str, Any] = {"rows": 8, "iterations": 4}


def test_fill_takes_what_is_resident_and_the_slowest_cta_gives_the_time(tmp_path: Path) -> None:
    device = Pretender()
    session, point = session_of(Case("multicast", 2, **SMALL), tmp_path, device, verify=False)
    row = session.run(point, 1.0)
    assert (row["status"], row["clusters"]) == ("ok", [8])
    assert row["flows"][0]["cycles"] == 2015
    assert row["flows"][0]["sm_ghz"] == pytest.approx(2.0, rel=0.02)
    assert device.launched[-1][1].grid == (16, 1, 1)
    assert sum(name == "flow" for name, _ in device.launched) == 1 + 3


def test_a_cold_start_flushes_the_l2_before_each_repeat(tmp_path: Path) -> None:
    device = Pretender()
    case = Case("unicast", memory="hbm", pattern="sweep", footprint=2**20, **SMALL)
    session, point = session_of(case, tmp_path, device, verify=False)
    session.run(point, 1.0)
    assert device.zeroed.count(FLUSH_BYTES) == 1  # before the first flush, which then only reads
    assert [name for name, _ in device.launched].count("read_all") == 3


def test_wrong_data_are_reported_with_their_place(tmp_path: Path) -> None:
    device = Pretender()
    session, point = session_of(Case("unicast", grid=2, **SMALL), tmp_path, device)
    expected = point["flows"][0]["expected"]["roles"]["consumer"]
    device.checks = {(0, 1): expected[0][0], (1, 1): expected[1][0]}
    assert session.run(point, 1.0)["flows"][0]["check"]["verified"] is True
    device.checks[1, 1] ^= 1
    check = session.run(point, 1.0)["flows"][0]["check"]
    assert (check["verified"], check["mismatches"], check["compared"]) == (False, 1, 2)
    assert (check["wrong"][0]["cluster"], check["wrong"][0]["rank"]) == (1, 0)


def test_a_hang_is_a_result_that_says_where(tmp_path: Path) -> None:
    session, point = session_of(Case("unicast", grid=2, **SMALL), tmp_path, Pretender(hang=True))
    row = session.run(point, 1.0)
    assert row["status"] == "hang"
    where = row["hang"][0][0]
    assert (where["role"], where["barrier"]) == ("consumer", "full")
    assert (where["cluster"], where["stage"], where["parity"], where["iteration"]) == (1, 2, 1, 17)


@pytest.mark.parametrize(
    ("sms", "cluster", "quota", "taking"),
    [
        (SmSet(gpcs=(1,)), 1, 2**30, dict.fromkeys(range(8, 16), 1)),
        (SmSet(gpcs=(0,), per_gpc=3), 1, 2**30, {0: 0, 1: 0, 2: 0}),
        (SmSet(gpcs=(0,), per_gpc=3, spread=True), 1, 2**30, {0: 0, 2: 0, 4: 0}),
        (SmSet(per_gpc=4), 2, 4, {sm: sm // 8 for sm in range(16)}),
    ],
)
def test_a_set_of_sms_becomes_groups_and_a_quota(
    sms: SmSet, cluster: int, quota: int, taking: dict[int, int], tmp_path: Path
) -> None:
    case = Case("unicast", cluster, sms=sms, **SMALL)
    session, point = session_of(case, tmp_path, Pretender(), verify=False)
    table, got = session._groups(point["flows"][0])
    assert got == quota
    assert {sm: int(group) for sm, group in enumerate(table) if group != 255} == taking
