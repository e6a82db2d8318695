"""Applies the plausibility rules, and locates their findings in the file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from hexapod_control.config.document import DocumentEntry
from hexapod_control.config.errors import FileError
from hexapod_control.config.robots.plausibility import body_rules, leg_rules, servo_rules, symmetry_rules
from hexapod_control.config.robots.plausibility.finding import CheckedRobot, Finding

# Most reliable rules first: positions before angles, sizes before masses.
RULES = (*symmetry_rules.RULES, *leg_rules.RULES, *body_rules.RULES, *servo_rules.RULES)


def findings(case: CheckedRobot, symmetric: bool = True) -> Iterator[Finding]:
    """All findings, the most reliable first; without `symmetric`, legs need not be mirror images."""
    for rule in RULES:
        if symmetric or rule is not symmetry_rules.mirror_images:
            yield from rule(case)


def located_errors(root: DocumentEntry, found: Iterable[Finding]) -> tuple[FileError, ...]:
    """Findings as errors with their lines in the file, one per key."""
    errors: dict[str, FileError] = {}
    for finding in found:
        entry = _entry(root, finding)
        errors.setdefault(entry.key, entry.error(finding.value, finding.bound, finding.remedy))
    return tuple(errors.values())


def one_line(errors: Sequence[FileError]) -> str:
    """Summary of implausible values in one line; empty if there are none."""
    if not errors:
        return ""
    count = len(errors) - 1
    more = f" and {count} more" if count else ""
    return f"implausible: {errors[0]}{more}; `hexapod check {errors[0].path}` explains"


def _entry(root: DocumentEntry, finding: Finding) -> DocumentEntry:
    """The entry of a finding's key below its leg or the common section; else the deepest existing section."""
    places = [f"legs.{finding.leg}.{finding.key}", f"leg.{finding.key}"] if finding.leg else [finding.key]
    reached = [_reached(root, place) for place in places]
    complete = [entry for entry, place in zip(reached, places, strict=True) if entry.key == place]
    return complete[0] if complete else reached[-1]


def _reached(root: DocumentEntry, place: str) -> DocumentEntry:
    entry = root
    for name in place.split("."):
        if name not in entry.children:
            return entry
        entry = entry.children[name]
    return entry
