"""One point of a study: its machine and its work, checked before anything is simulated."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from hoppersim.errors import InputError
from hoppersim.machine.rules import closest
from hoppersim.pool import MachineRequest, machine_for
from hoppersim.program.case_spec import Case
from hoppersim.program.cases import build_case
from hoppersim.program.files import load_work
from hoppersim.program.plain import plain
from hoppersim.program.rules import check
from hoppersim.program.work import Work
from hoppersim.sweep.columns import Columns
from hoppersim.sweep.figures import Figures, known_figures
from hoppersim.sweep.keys import point_key
from hoppersim.sweep.parameters import FLOW, Parameters, override
from hoppersim.sweep.study import Settings, Sweep
from hoppersim.sweep.works import case_names, make_case, make_flow


@dataclass(frozen=True)
class Point:
    """One point of a study.

    Attributes
    ----------
    settings
        Values of what varies.
    request
        Its machine.
    work, key
        What to simulate, and its identity; None and empty where nothing is.
    machine_hash, machine, provisional
        Of the machine: hash, name, how many numbers are not measured yet.
    known
        Figures that are known without a simulation.
    status, reason
        ``refused`` or ``outside``, and why, for a point that is not simulated.
    """

    settings: Settings
    request: MachineRequest
    work: Work | None = None
    key: str = ""
    machine_hash: str = ""
    machine: str = ""
    provisional: int = 0
    known: Figures = field(default_factory=dict)
    status: str = ""
    reason: str = ""


class PointBuilder:
    """Makes the points of a study of their settings.

    Parameters
    ----------
    sweep
        The study.

    Raises
    ------
    InputError
        If its base is unknown or illegal by itself.
    """

    def __init__(self, sweep: Sweep) -> None:
        self.sweep = sweep
        flow = sweep.flow is not None or FLOW in sweep.varied
        if flow and sweep.case is not None:
            raise InputError("flow", sweep.flow, "a study runs a case or a flow file, not both", "no case")
        if not flow and not isinstance(sweep.case, dict):
            raise InputError("case", sweep.case, "a study needs a base: a table case, or a flow file")
        self.parameters = Parameters(
            machine_for(MachineRequest(sweep.preset, (), sweep.floorplan)), flow=flow
        )
        self._base = {name: self._fixed(name, value) for name, value in sweep.settings.items()}
        self._fields = {} if flow else {name: self._field(name, value) for name, value in sweep.case.items()}

    def _fixed(self, name: str, value: Any) -> Any:
        self.parameters.require("set", name)
        if not self.parameters.of_machine(name):
            raise InputError(f"set.{name}", value, "is no number of the machine; give it in the table case")
        return self.parameters.check("set", name, value)

    def _field(self, name: str, value: Any) -> Any:
        if name not in case_names():
            raise InputError(f"case.{name}", value, "is no field of a case", closest(name, case_names()))
        return self.parameters.check("case", name, value)

    def build(self, settings: Settings, columns: Columns) -> Point:
        """Make a point; what keeps it from running, or a limit that it breaks, is its status.

        Raises
        ------
        InputError
            If a field of the case is missing, or a path leads nowhere in the flow file.
        """
        request = self._request(settings)
        case, work = self._work(settings)
        try:
            machine = machine_for(request)
            work = build_case(case) if case is not None else work
        except InputError as error:
            return Point(settings, request, status="refused", reason=str(error))
        assert work is not None
        known = known_figures(case, work)
        violations = check(work, machine)
        reason = "; ".join(map(str, violations)) or columns.breach(settings | known)
        about = (machine.hash, machine.name, machine.provisional_count, known)
        if reason:
            return Point(settings, request, None, "", *about, "refused" if violations else "outside", reason)
        return Point(settings, request, work, point_key(machine.hash, work, self.sweep.max_cycles), *about)

    def _request(self, settings: Settings) -> MachineRequest:
        numbers = {
            name: value for name, value in (self._base | settings).items() if self.parameters.of_machine(name)
        }
        return MachineRequest(
            settings.get("preset", self.sweep.preset),
            tuple(override(name, value) for name, value in numbers.items()),
            settings.get("floorplan", self.sweep.floorplan),
        )

    def _work(self, settings: Settings) -> tuple[Case | None, Work | None]:
        """Give the case of the settings, or the work of its flow file."""
        if not self.parameters.flow:
            fields = {name: value for name, value in settings.items() if name in case_names()}
            return make_case(self._fields | fields), None
        places = {name: value for name, value in settings.items() if self.parameters.of_flow(name)}
        return None, make_flow(_flow_document(settings.get(FLOW, self.sweep.flow)), places)


@lru_cache(maxsize=8)
def _flow_document(path: str) -> dict[str, Any]:
    document: dict[str, Any] = plain(load_work(path))
    return document
