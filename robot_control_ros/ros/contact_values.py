"""A contact as the values of a DiagnosticStatus, as on ``~/contact``, and back."""

from __future__ import annotations

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue

from ..sensing.contact_detector import UNITS, DetectedContact

KINDS = ("collision", "clamping")


def fill_contact(status: DiagnosticStatus, contact: DetectedContact, reaction: str) -> None:
    """Write a contact and the reaction to it into a status; keys of sizes have the unit."""
    values = {
        "link": contact.link,
        "joint": contact.joint,
        "detector": contact.detector,
        "kind": KINDS[contact.clamping],
        f"size [{UNITS[contact.detector]}]": f"{contact.size:.4g}",
        f"limit [{UNITS[contact.detector]}]": f"{contact.limit:.4g}",
        "start [s]": f"{contact.start:.3f}",
        "last [s]": f"{contact.last:.3f}",
        "reaction": reaction,
    }
    status.values = [KeyValue(key=key, value=value) for key, value in values.items() if value]


def read_contact(status: DiagnosticStatus) -> DetectedContact | None:
    """The contact in a status; None where it has none."""
    values = {item.key: item.value for item in status.values}
    if "detector" not in values:
        return None
    detector = values["detector"]
    unit = UNITS[values["detector"]]
    sizes = (
        float(values[key]) for key in ("start [s]", "last [s]", f"size [{unit}]", f"limit [{unit}]")
    )
    clamping = values["kind"] == KINDS[True]
    return DetectedContact(detector, clamping, values.get("joint", ""), values["link"], *sizes)
