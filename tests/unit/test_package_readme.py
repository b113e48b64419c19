"""What the README shows must work as written."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()


def test_python_example_runs_as_written(tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    lines = _run(["-c", code], tmp_path)
    assert [line.split()[0] for line in lines] == ["unicast_distinct", "unicast", "multicast"]


# Scripts beside a study file of their name run in a quick form in the tests of sweeps.
SCRIPTS = sorted(
    path for path in (ROOT / "experiments").glob("*.py") if not path.with_suffix(".toml").exists()
)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_user_script_runs(script: Path, tmp_path: Path) -> None:
    assert len(_run([str(script)], tmp_path)) >= 3


def test_images_that_the_readme_shows_exist() -> None:
    images = re.findall(r"!\[.*?\]\((.*?)\)", README)
    assert images
    assert [image for image in images if not (ROOT / image).is_file()] == []


def _run(arguments: list[str], folder: Path) -> list[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
