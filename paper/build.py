# SPDX-License-Identifier: MIT
"""The report's PDF, the same bytes from the same inputs.

    python -m paper.build --tex results/quick/report.tex --out results/quick/report.pdf --log LOG

latexmk runs in a temporary folder; files the report names are found relative to the .tex file's folder. If LaTeX
stops, the last `!` block of its log is printed, and the whole log stays at --log.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from analysis import command
from paper.errors import TexError

EPOCH = "974851200"
"""22 November 2000, the day of the paper's prices, as the date of every file LaTeX writes."""
ENGINE = ("latexmk", "-norc", "-pdf", "-interaction=nonstopmode", "-halt-on-error", "-silent")
TIME_LIMIT_S = 600


def last_error(log: str) -> str:
    """The last `!` block of a TeX log: from the exclamation mark to the `l.<number>` line and the one after."""
    lines = log.splitlines()
    starts = [i for i, line in enumerate(lines) if line.startswith("!") and not line.startswith("!  ==>")]
    if not starts:
        return "\n".join(lines[-10:])
    block = lines[starts[-1] :]
    end = next((i for i, line in enumerate(block) if line.startswith("l.")), 8)
    return "\n".join(block[: end + 2]).rstrip()


def build(tex: Path, out: Path, log: Path) -> None:
    """Make `out` from `tex`. Raises TexError; what was at `out` before stays then."""
    if not shutil.which("latexmk"):
        raise TexError("latexmk is not installed; `make doctor` names the packages")
    log.parent.mkdir(parents=True, exist_ok=True)
    env = os.environ | {
        "SOURCE_DATE_EPOCH": EPOCH, "FORCE_SOURCE_DATE": "1", "TEXINPUTS": f"{tex.resolve().parent}:",
        "max_print_line": "1000", "LC_ALL": "C.UTF-8", "TZ": "UTC",
    }  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="spindle-tex-") as folder:
        shutil.copy(tex, Path(folder) / "report.tex")
        try:
            run = subprocess.run([*ENGINE, "report.tex"], cwd=folder, env=env, capture_output=True, text=True,
                                 timeout=TIME_LIMIT_S)  # fmt: skip
        except subprocess.TimeoutExpired:
            raise TexError(f"{tex}: LaTeX ran longer than {TIME_LIMIT_S} s; run latexmk by hand") from None
        written = Path(folder) / "report.log"
        text = written.read_text(errors="replace") if written.exists() else run.stdout + run.stderr
        log.write_text(text)
        made = Path(folder) / "report.pdf"
        if run.returncode or not made.exists():
            raise TexError(f"{tex}: LaTeX stopped:\n{last_error(text)}\nThe whole log: {log}")
        partial = out.with_name(out.name + ".partial")
        shutil.copyfile(made, partial)
        partial.replace(out)


def main(argv: list[str] | None = None) -> int:
    """Command line; see the module's text."""
    parser = command.parser(__doc__, "out")
    parser.add_argument("--tex", type=Path, required=True)
    parser.add_argument("--log", type=Path, required=True, help="where LaTeX's log goes")
    return command.finish("paper.build", parser.parse_args(argv), lambda args: build(args.tex, args.out, args.log))


if __name__ == "__main__":
    sys.exit(main())
