"""The article's benchmark: it builds with its own line, refuses in one, and the docs say what it printed."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from hw_validate.counters import METRICS
from hw_validate.lower.wrappers import KERNELS
from hw_validate.probe_ncu import shipped_names

ROOT = Path(__file__).resolve().parents[2]
SOURCE = KERNELS / "tma_multicast_bench.cu"
TEXT = SOURCE.read_text(encoding="utf-8")
DOCS = (ROOT / "docs" / "article.md").read_text(encoding="utf-8")
NVCC = shutil.which("nvcc")


def build_line() -> str:
    found = re.search(r"//\s+(nvcc .*)", TEXT)
    assert found
    return found.group(1)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if NVCC is None:
        pytest.skip("nvcc is not on the PATH")
    folder = tmp_path_factory.mktemp("bench")
    shutil.copy(SOURCE, folder)
    done = subprocess.run(build_line().split(), cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr
    return folder / "tma_multicast_bench"


def test_without_a_gpu_it_says_so_in_one_line(bench: Path) -> None:
    done = subprocess.run(
        [bench], capture_output=True, text=True, check=False, env={"CUDA_VISIBLE_DEVICES": ""}
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(r"no measurement: no usable GPU: .+\n", done.stderr)


def test_an_unknown_option_is_refused(bench: Path) -> None:
    done = subprocess.run([bench, "--fast"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "--profile or --ncu: --fast" in done.stderr


def test_the_ncu_line_reads_known_counters_and_leaves_the_clocks_alone(bench: Path) -> None:
    line = subprocess.run([bench, "--ncu"], capture_output=True, text=True, check=True).stdout.split()
    assert line[0] == "ncu"
    assert line[line.index("--clock-control") + 1] == "none"
    assert line[-2:] == ["./tma_multicast_bench", "--profile"]
    names = line[line.index("--metrics") + 1].split(",")
    assert {name.removesuffix(".sum") for name in names} <= shipped_names()
    assert "dram__bytes_read.sum" in names
    assert len(set(names) & set(METRICS)) == len(names) - 1


def test_it_stands_alone_and_the_docs_give_its_line() -> None:
    assert not re.findall(r'#include "', TEXT)
    assert build_line() in DOCS
    assert "hw_validate/kernels/tma_multicast_bench.cu" in DOCS


def part(name: str) -> str:
    return DOCS.partition(f"<!-- BEGIN {name} -->")[2].partition(f"<!-- END {name} -->")[0]


def test_ratios_in_the_docs_are_those_of_the_output() -> None:
    times = {
        (scenario, kernel): float(time)
        for scenario, kernel, time in re.findall(
            r"^(\w+) +(unicast|multicast) +\d+ +([\d.]+) ", part("output"), re.MULTILINE
        )
    }
    assert len(times) == 6
    claims = DOCS.partition("## Claims")[2]
    for scenario, start in (("hot", "| hot tile"), ("matrix", '| "streaming"'), ("stream", "| 4 GB")):
        row = next(line for line in claims.splitlines() if line.startswith(start))
        ratio = times[scenario, "unicast"] / times[scenario, "multicast"]
        assert row.split("|")[3].strip() == f"{ratio:.3f}"


def test_what_arrived_is_what_the_output_says_was_checked() -> None:
    rows = re.findall(
        r"^(\w+) +\w+ +(\d+) +[\d.]+ +[\d.]+% +[\d.]+ +([\d.]+) +(\d+) +(\d+)$", part("output"), re.M
    )
    assert len(rows) == 6
    for _, iterations, _, checked, wrong in rows:
        assert int(checked) == 132 * int(iterations)
        assert wrong == "0"


def test_counters_in_the_docs_agree_with_each_other_and_with_the_claims() -> None:
    table = {
        cells[1].strip(): [int(cell.replace(",", "")) for cell in cells[2:8]]
        for cells in (line.split("|") for line in part("counters").splitlines())
        if len(cells) == 9 and "__" in cells[1]
    }
    own = table["l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld_dest_self"]
    cast = table["l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld_dest_multicast"]
    tiles = [132 * count * 16384 for count in (5000, 5000, 2000, 2000, 3972, 3972)]
    assert [a + b for a, b in zip(own, cast, strict=True)] == tiles
    sectors = table["lts__t_sectors_srcunit_tex_op_read"]
    ratios = [f"{sectors[k + 1] / sectors[k]:.2f}" for k in (0, 2, 4)]
    row = next(line for line in DOCS.splitlines() if line.startswith("| multicast halves the sectors"))
    assert re.findall(r"\d\.\d\d", row) == ratios
    requests = table["lrc__xbar2lrc_requests_op_read"]
    assert all(round(requests[k + 1] / requests[k], 2) == 0.5 for k in (0, 2, 4))
    falls = [1 - table["lts__t_bytes"][k + 1] / table["lts__t_bytes"][k] for k in (0, 2, 4)]
    assert f"{min(falls):.0%} to {max(falls):.0%}".replace("%", "", 1) == "14 to 19%"
    more = (table["lts__t_bytes"][0] - 32 * sectors[0]) / requests[0]
    assert round(more) == 38
