"""The machine: what there is, where it sits, and where every number comes from."""

from hoppersim.machine.addresses import AddressMap, Region
from hoppersim.machine.bounds import Bound, LinkLoad, TrafficRow, bound
from hoppersim.machine.floorplan import Floorplan, Gpc, floorplan_from_groups, load_floorplan
from hoppersim.machine.inheritance import preset_names
from hoppersim.machine.loading import load_machine
from hoppersim.machine.machine import Machine
from hoppersim.machine.placement import Placement, StrandedSm, require_launchable, resident, select_sms
from hoppersim.machine.provenance import Origin
from hoppersim.machine.specification import Specification

__all__ = [
    "AddressMap",
    "Bound",
    "Floorplan",
    "Gpc",
    "LinkLoad",
    "Machine",
    "Origin",
    "Placement",
    "Region",
    "Specification",
    "StrandedSm",
    "TrafficRow",
    "bound",
    "floorplan_from_groups",
    "load_floorplan",
    "load_machine",
    "preset_names",
    "require_launchable",
    "resident",
    "select_sms",
]
