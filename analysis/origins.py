# SPDX-License-Identifier: MIT
"""Where a number that a report prints is from."""

from analysis import entries

MEASURED, VERIFIED, COMPUTED, REFERENCE = "measured here", "verified here", "computed here", "reference"
FAILED, LACKING = "failed", "not here"
ORIGINS = {
    MEASURED: "from cells of this profile",
    VERIFIED: "from cells of this profile, each equal in every digit to the reference, made from the same inputs",
    COMPUTED: "from the catalogue of drives or from printed numbers; nothing is measured for it",
    REFERENCE: "from cells that were measured once and are committed; this profile has none at the paper's size",
    FAILED: "its cells ended without a result",
    LACKING: "this profile does not measure it, or there is nothing to measure",
}  # fmt: skip
"""Each origin, in the order of a report, with what it means."""


def printed(own: dict, committed: dict | None) -> dict:
    """The one of a table's entry and the same entry made from the reference (analysis.entries.read) that is printed."""
    if committed is None or entries.at_full_size(own) or not entries.at_full_size(committed):
        return own
    return committed


def origin(own: dict, committed: dict | None, equal: set[str]) -> str:
    """Where the printed number is from; `equal` are cells of this profile that are equal to the reference."""
    row = printed(own, committed)
    if row is not own:
        return REFERENCE
    if row["reproduced"] is None:
        return FAILED if row["reason"].startswith("failed") else LACKING
    if not row["cells"]:
        return COMPUTED
    return VERIFIED if equal.issuperset(row["cells"]) else MEASURED
