"""Which SMs share a GPC and a TPC, found by launching clusters. Imports standard library and numpy only."""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from hw_validate.driver import DriverError, Shape
from hw_validate.launch import Session

SIZES = (16, 8, 4, 2)
ODD_SIZES = (14, 12, 10, 6)
"""Sizes that leave other SMs of a GPC over than powers of two do, so that all its SMs meet at some time."""
ROUNDS = 40
ODD_ROUNDS = 10
SPIN_CYCLES = 30_000
BIG_SHARED = 200 * 1024
LATENCY_LOADS = 32


def probe_floorplan(session: Session, limit: float = 60.0) -> dict[str, Any]:
    """Launch clusters of several sizes many times and group SMs that appear together.

    Returns
    -------
    dict
        `groups`: SM ids that share a cluster of 16 or less, joined over all launches (GPCs); `tpcs`: SM ids
        that share clusters of 2; `loose`: SMs that never joined a group; `resident`: most clusters resident
        at once by size; `together`: how often pairs of SMs shared a cluster of 2.
    """
    count = session.device.attribute("MULTIPROCESSOR_COUNT")
    groups, pairs = list(range(count)), Counter[tuple[int, int]]()
    seen: dict[int, list[int]] = {}
    for size in (*SIZES, *ODD_SIZES):
        appeared: set[int] = set()
        for _ in range(ROUNDS if size in SIZES else ODD_ROUNDS):
            for members in _members(session, size, limit):
                appeared.update(members)
                _join(groups, members)
                if size == 2:
                    pairs[(min(members), max(members))] += 1
        seen[size] = sorted(set(range(count)) - appeared)
    found: dict[int, list[int]] = {}
    for sm in range(count):
        found.setdefault(_root(groups, sm), []).append(sm)
    return {
        "groups": sorted((part for part in found.values() if len(part) > 1), key=lambda part: part[0]),
        "loose": [part[0] for part in found.values() if len(part) == 1],
        "tpcs": _tpcs(pairs),
        "together": [[a, b, times] for (a, b), times in sorted(pairs.items())],
        "never_in_clusters_of": seen,
        "resident": resident(session),
        "resident_small": resident(session, 1024),
    }


def resident(session: Session, shared_bytes: int = BIG_SHARED) -> dict[int, int]:
    """Ask how many clusters of each size are resident at once."""
    function = session.probe("members", shared_bytes)
    return {
        size: session.device.max_clusters(function, Shape((size, 1, 1), (size, 1, 1), 32, shared_bytes))
        for size in (1, *reversed(SIZES))
    }


def _members(session: Session, size: int, limit: float) -> Iterable[list[int]]:
    """Launch one wave of clusters and give the SMs of each."""
    device, function = session.device, session.probe("members", BIG_SHARED)
    one = Shape((size, 1, 1), (size, 1, 1), 32, BIG_SHARED)
    try:
        clusters = device.max_clusters(function, one)
    except DriverError:
        return []
    if clusters < 1:
        return []
    place = device.allocate(4 * clusters * size)
    values = [ctypes.c_uint64(place), ctypes.c_uint32(size), ctypes.c_uint32(SPIN_CYCLES)]
    device.launch(function, Shape((size * clusters, 1, 1), one.cluster, 32, BIG_SHARED), values)
    device.wait(limit)
    sms = device.read(place, (clusters, size), np.uint32)
    device.free(place)
    return [[int(sm) for sm in row] for row in sms]


def pair_latencies(session: Session, size: int = 16, limit: float = 60.0) -> dict[str, Any]:
    """Measure the round trip of a remote load between all pairs of SMs in each cluster [cycles]."""
    device, function = session.device, session.probe("pair_latency", BIG_SHARED)
    one = Shape((size, 1, 1), (size, 1, 1), 32, BIG_SHARED)
    clusters = device.max_clusters(function, one)
    if clusters < 1:
        return {"size": size, "clusters": []}
    sms, cycles = device.allocate(4 * clusters * size), device.allocate(4 * clusters * size * size)
    values = [
        ctypes.c_uint64(sms),
        ctypes.c_uint64(cycles),
        ctypes.c_uint32(size),
        ctypes.c_uint32(LATENCY_LOADS),
    ]
    device.launch(function, Shape((size * clusters, 1, 1), one.cluster, 32, BIG_SHARED), values)
    device.wait(limit)
    names = device.read(sms, (clusters, size), np.uint32)
    table = device.read(cycles, (clusters, size, size), np.uint32) / LATENCY_LOADS
    device.free(sms)
    device.free(cycles)
    rows = [{"sms": names[k].tolist(), "cycles": table[k].round(2).tolist()} for k in range(clusters)]
    return {"size": size, "clusters": rows}


def _root(groups: list[int], sm: int) -> int:
    while groups[sm] != sm:
        groups[sm] = groups[groups[sm]]
        sm = groups[sm]
    return sm


def _join(groups: list[int], members: list[int]) -> None:
    first = _root(groups, members[0])
    for sm in members[1:]:
        groups[_root(groups, sm)] = first


def _tpcs(pairs: Counter[tuple[int, int]]) -> list[list[int]]:
    """Pair each SM with the one that it shared most clusters of 2 with, where the choice is mutual."""
    best: dict[int, Counter[int]] = {}
    for (a, b), times in pairs.items():
        best.setdefault(a, Counter())[b] += times
        best.setdefault(b, Counter())[a] += times
    mates = {sm: votes.most_common(1)[0][0] for sm, votes in best.items()}
    return sorted([sm, mate] for sm, mate in mates.items() if sm < mate and mates.get(mate) == sm)
