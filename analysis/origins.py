# SPDX-License-Identifier: MIT
"""Where a number that a report prints is from."""

from collections.abc import Collection

from analysis import entries

MEASURED, VERIFIED, COMPUTED, REFERENCE = "measured here", "verified here", "computed here", "reference"
FAILED, LACKING = "failed", "not here"
ORIGINS = {
    MEASURED: "from cells of this profile",
    VERIFIED: "from cells that are equal in every digit to the reference, made from the same inputs: measured by this "
              "profile, or again by `spindle verify`",
    COMPUTED: "from the catalogue of drives or from printed numbers; nothing is measured for it",
    REFERENCE: "from cells that were measured once and are committed; this profile has none at the paper's size",
    FAILED: "its cells ended without a result",
    LACKING: "this profile does not measure it, or there is nothing to measure",
}  # fmt: skip
"""Each origin, in the order of a report, with what it means."""
HERE = (MEASURED, VERIFIED)
"""Origins of numbers that were measured on this machine."""


def printed(own: dict, committed: dict | None) -> dict:
    """The one of a table's entry and the same entry made from the reference (analysis.entries.read) that is printed."""
    if committed is None or entries.at_full_size(own) or not entries.at_full_size(committed):
        return own
    return committed


def origin(own: dict, committed: dict | None, equal: Collection[str], verified: Collection[str]) -> str:
    """Where the printed number is from; `equal` are cells of this profile that are equal to the reference, `verified`
    those of the reference that were measured again here and were equal."""
    row = printed(own, committed)
    if row is not own:
        return VERIFIED if row["cells"] and {*equal, *verified}.issuperset(row["cells"]) else REFERENCE
    if row["reproduced"] is None:
        return FAILED if (row["reason"] or "").startswith("failed") else LACKING
    if not row["cells"]:
        return COMPUTED
    return VERIFIED if set(equal).issuperset(row["cells"]) else MEASURED


def count(rows: list[dict]) -> dict[str, int]:
    """How many of these numbers of a summary.json are from where; what no number is from, is left out."""
    found = [row["origin"] for row in rows]
    return {name: found.count(name) for name in ORIGINS if name in found}
