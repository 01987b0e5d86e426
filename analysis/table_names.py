# SPDX-License-Identifier: MIT
"""Names of the tables, by what they are made from. Imports nothing, because Snakemake reads it with every command."""

LITERAL = ("table1", "table2")
"""Printed as the paper has them; nothing is measured for them."""
DRIVES = ("table3",)
MEASURED = ("table4", "table5", "table6", "table7")
PRINTED = LITERAL + DRIVES + MEASURED
"""All of the paper's."""
EXTRA = ("controllers", "postmark", "filesystems", "scaling", "volumes")
"""Ours, from the same cells."""
TRACED = ("figure1", "figure2")
"""Made by analysis.figures; in the summary they stand under `extra`."""
COMMITTED = ("table4", "table6", "table7", "postmark", "filesystems")
"""Made a second time, from the committed reference numbers."""
SHOWN = ("table6", "table7", "filesystems")
"""Of these, printed where the profile lacks some of their numbers (analysis.reference_page)."""
FILLED = ("postmark",)
"""Of these, with the reference's numbers in the places of those that the profile lacks."""
EXPLAINED = ("table4", "table6", "table7")
"""Whose numbers analysis.deviations compares and explains."""
