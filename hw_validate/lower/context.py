"""What the statements of one role need to know while they are written."""

from __future__ import annotations

from dataclasses import dataclass, field

from hoppersim.program.operations import For, Operand
from hoppersim.program.work import Program, Role
from hw_validate.lower.layout import Layout
from hw_validate.lower.operands import Values


@dataclass
class Ring:
    """The position of one loop's ring: its C++ variables, and which of them are used."""

    loop: For
    number: int
    uses_stage: bool = False
    uses_phase: bool = False

    @property
    def stage(self) -> str:
        """Variable of the stage; the constant 0 in a ring of one stage."""
        if self.loop.stages == 1:
            return "0"
        self.uses_stage = True
        return f"stage{self.number}"

    @property
    def phase(self) -> str:
        """Variable of the parity of the present round."""
        self.uses_phase = True
        return f"phase{self.number}"

    def declarations(self) -> list[str]:
        """Declare the variables that are used; they outlive the loop, which may be entered again."""
        used = (("stage", self.uses_stage), ("phase", self.uses_phase))
        return [f"{name}{self.number} = 0" for name, is_used in used if is_used]


@dataclass
class Names:
    """C++ constants of a program's parts."""

    buffers: dict[str, str]
    barriers: dict[str, str]
    maps: dict[str, int]


@dataclass
class RoleContext:
    """One role while it is written.

    `guarded` maps a barrier to the buffers whose data its phases announce, for the check of data.
    """

    program: Program
    role: Role
    number: int
    layout: Layout
    names: Names
    values: Values
    guarded: dict[str, tuple[str, ...]]
    first_site: int
    open: list[Ring] = field(default_factory=list)
    rings: list[Ring] = field(default_factory=list)
    running: dict[str, str] = field(default_factory=dict)
    sites: int = 0

    @property
    def threads(self) -> int:
        """Threads that run operations of the whole role."""
        return 1 if self.role.width == "lane" else 32 * self.role.warps

    @property
    def thread(self) -> str:
        """Number of the thread among them."""
        return "0" if self.role.width == "lane" else "thread"

    def ring(self, stages: int) -> Ring | None:
        """Find the open ring that drives a buffer or barrier of so many stages."""
        return next((ring for ring in reversed(self.open) if ring.loop.stages == stages), None)

    def value(self, operand: Operand) -> str:
        """Write an operand."""
        return self.values.text(operand, self.running)

    def stage(self, stages: int) -> str:
        """Write the present stage of something with so many stages."""
        ring = self.ring(stages)
        return ring.stage if ring else "0"

    def barrier(self, name: str) -> str:
        """Write the address of a barrier at the present stage."""
        stage = self.stage(self.program.barrier(name).stages)
        base = f"smem + {self.names.barriers[name]}"
        return base if stage == "0" else f"{base} + 8 * {stage}"

    def buffer(self, name: str, offset: Operand = 0) -> str:
        """Write the address in a buffer at the present stage."""
        stage = self.stage(self.program.buffer(name).stages)
        text = f"smem + {self.names.buffers[name]}_AT"
        if stage != "0":
            text += f" + {stage} * {self.names.buffers[name]}_STRIDE"
        shift = self.value(offset)
        return text if shift == "0" else f"{text} + {shift}"

    def issue(self, statement: str) -> str:
        """Write a statement that one thread of the role performs."""
        if self.role.width == "lane":
            return statement
        if self.role.width == "warps":
            return f"if (thread == 0) {statement}"
        return f"if ({'thread < 32 && ' if self.role.warps > 1 else ''}elect()) {statement}"
