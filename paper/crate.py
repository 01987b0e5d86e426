# SPDX-License-Identifier: MIT
"""A report as a Workflow Run RO-Crate: what it was made from, by which workflow, and what came out, as linked data.

The profile is Workflow Run Crate 0.5 (https://w3id.org/ro/wfrun/workflow/0.5), which builds on RO-Crate 1.1. Nothing in
it is from the host's clock. When the report was made, and by whom, is recorded nowhere, so that the crate leaves it
out. The same report and sources give the same bytes.
"""

import os
import re
import shutil
import tempfile
from importlib.metadata import version
from pathlib import Path

import yaml
from rocrate.model.contextentity import ContextEntity
from rocrate.rocrate import ROCrate

from lab.cell import lock, papers, paths
from paper import sources
from paper.errors import CrateError

METADATA = "ro-crate-metadata.json"
PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": ("Process Run Crate", "0.5"),
    "https://w3id.org/ro/wfrun/workflow/0.5": ("Workflow Run Crate", "0.5"),
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": ("Workflow RO-Crate", "1.0"),
}
"""What the crate conforms to."""
WORKFLOW = "Snakefile"
LOCKS = ("guest", "kernel", "qemu", "requirements", "toolchain", "volumes")
"""Locks of what a report is made with."""
FORMATS = {
    ".csv": "text/csv", ".html": "text/html", ".json": "application/json", ".lock": "text/plain",
    ".pdf": "application/pdf", ".smk": "text/x-snakemake", ".yaml": "application/yaml", "": "text/x-snakemake",
}  # fmt: skip
COMMIT = re.compile(r"commit <code>([0-9a-f]{12}\+?)</code>")
"""The page's head names the commit that it was made from."""
INCLUDED = re.compile(r'^include: "(.+)"$', re.M)


def inputs(profile: str) -> list[str]:
    """What a report is made from, by paths from the root: the profile, papers' sheets, locks."""
    found = [f"config/profiles/{profile}/config.yaml"]
    for name in papers.ids():
        found += [f"paper/{name}/{part}" for part in (papers.ABOUT, papers.SHEET, f"profiles/{profile}.yaml")]
    return [*(name for name in found if (paths.ROOT / name).exists()), *(f"envs/{name}.lock" for name in LOCKS)]


def outputs(profile: str) -> list[str]:
    """What the report is, by paths from the root; a folder ends with a slash."""
    top = f"results/{profile}"
    folders = [top, *(f"{top}/{name}" for name in papers.ids())]
    return [f"{folder}/{part}" for folder in folders for part in ("report.pdf", "report.html", "summary.json", "page/")]


def write(profile: str, out: Path | None = None, date: str | None = None) -> Path:
    """Write the crate of a profile's report, and return its folder.

    The folder is results/<profile>/crate, with links to the files, or `out`, with copies. `date` (YYYY-MM-DD) is when
    the crate is published; without it that is the day of the commit. Raises CrateError if the report is missing or was
    made from another commit, if there is no date, or if `out` has something in it.
    """
    with lock.hold(lock.RESULTS, what=f"crate of profile {profile}"):
        return _write(profile, out, date)


def _write(profile: str, out: Path | None, date: str | None) -> Path:
    """The same, while no report is at work."""
    makes = f"`make report PROFILE={profile}` makes it"
    results = outputs(profile)
    for name in results:
        if not (paths.ROOT / name).exists():
            raise CrateError(f"{name}: is not there; {makes}")
    commit = _commit(profile, makes)
    date = date or sources.day()
    if date is None:
        raise CrateError("datePublished: there is no git here that tells the day of the commit; give --date YYYY-MM-DD")
    if out is not None and out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise CrateError(f"{out}: is there and not empty; give a folder that is new or empty")
    folder = out or paths.ROOT / f"results/{profile}/crate"
    crate, files = _describe(profile, results, commit, date)
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Put in place whole, so that a killed command leaves no half a crate under its name.
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as scratch:
        made = Path(scratch) / "crate"
        for name in files:
            target = made / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if out is None:
                up = len(Path(name).parent.parts) + len(folder.relative_to(paths.ROOT).parts)
                target.symlink_to(os.path.join(*[".."] * up, name))
            else:
                shutil.copyfile(paths.ROOT / name, target)
        crate.metadata.write(made)
        if folder.exists():
            shutil.rmtree(folder)
        made.rename(folder)
    return folder


def _commit(profile: str, makes: str) -> str:
    """The commit that the report names, which must be the one that lies here; empty if neither has one."""
    page = f"results/{profile}/report.html"
    found = COMMIT.search((paths.ROOT / page).read_text(encoding="utf-8"))
    made, here = found[1] if found else "", sources.commit()
    if made != here:
        raise CrateError(
            f"{page}: was made from commit {made or '(none)'}, and {here or '(none)'} lies here, so that its inputs "
            f"are not these; {makes} again"
        )
    return made


def _describe(profile: str, results: list[str], commit: str, date: str) -> tuple[ROCrate, list[str]]:
    """The crate's metadata, and the files that it has, by paths from the root."""
    about = yaml.safe_load((paths.ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    crate = ROCrate(version="1.1")
    root = crate.root_dataset
    crate.name = f"Spindle: report of profile {profile}"
    crate.description = f"{about['title']}. Tables of {len(papers.ids())} papers, reproduced beside the original."
    root["datePublished"] = date
    root["version"] = about["version"]
    root["conformsTo"] = [
        crate.add(ContextEntity(crate, url, {"@type": "CreativeWork", "name": name, "version": number}))
        for url, (name, number) in PROFILES.items()
    ]
    spdx = f"https://spdx.org/licenses/{about['license']}"
    words = {"@type": "CreativeWork", "name": about["license"], "description": f"SPDX license {about['license']}"}
    root["license"] = crate.add(ContextEntity(crate, spdx, words))
    root["keywords"] = ", ".join(about["keywords"])
    authors = [_author(crate, number, one) for number, one in enumerate(about["authors"], 1)]
    # RO-Crate wants a single value to stand alone.
    root["author"] = authors if len(authors) > 1 else authors[0]

    files = [WORKFLOW, *INCLUDED.findall((paths.ROOT / WORKFLOW).read_text(encoding="utf-8"))]
    workflow = crate.add_workflow(
        paths.ROOT / WORKFLOW, WORKFLOW, main=True, lang="snakemake", lang_version=version("snakemake"),
        properties=_properties(WORKFLOW),
    )  # fmt: skip
    workflow["name"] = "Spindle: papers of profiles, measured and printed"
    workflow["license"], workflow["author"] = root["license"], root["author"]
    workflow["conformsTo"] = {"@id": "https://bioschemas.org/profiles/ComputationalWorkflow/1.0-RELEASE"}
    code = {"@type": ["File", "SoftwareSourceCode"], "programmingLanguage": workflow["programmingLanguage"]}
    if commit:
        workflow["version"] = code["version"] = commit
    workflow["hasPart"] = [_add(crate, name, code) for name in files[1:]]
    parameter = crate.add(ContextEntity(crate, "#parameter-profile", {
        "@type": "FormalParameter", "name": "profile", "additionalType": "Text", "valueRequired": True,
        "description": "How much is measured: the name of a folder of config/profiles",
        "conformsTo": {"@id": "https://bioschemas.org/profiles/FormalParameter/1.0-RELEASE"},
    }))  # fmt: skip
    value = crate.add(ContextEntity(crate, "#profile", {
        "@type": "PropertyValue", "name": "profile", "value": profile, "exampleOfWork": {"@id": parameter.id},
    }))  # fmt: skip
    parameter["workExample"] = value
    workflow["input"] = parameter

    made_from = [_add(crate, name) for name in inputs(profile)]
    made = []
    for name in results:
        made.append(_add(crate, name))
        below = sorted((paths.ROOT / name).rglob("*")) if name.endswith("/") else [paths.ROOT / name]
        files += [str(path.relative_to(paths.ROOT)) for path in below if path.is_file()]
    action = {
        "name": f"Report of profile {profile}",
        "description": "Each paper's cells of the profile were measured and printed beside the published numbers.",
    }
    root["mentions"] = crate.add_action(workflow, "#report", object=[value, *made_from], result=made, properties=action)
    return crate, sorted({*files, *inputs(profile)})


def _author(crate: ROCrate, number: int, one: dict) -> ContextEntity:
    """An author of CITATION.cff: an organization has one name, a person two."""
    person = f"{one.get('given-names', '')} {one.get('family-names', '')}".strip()
    kind = "Organization" if "name" in one else "Person"
    return crate.add(
        ContextEntity(crate, one.get("orcid", f"#author-{number}"), {"@type": kind, "name": one.get("name", person)})
    )


def _properties(name: str) -> dict:
    """What is said of a file."""
    path = Path(name)
    return {
        "name": name, "encodingFormat": FORMATS[path.suffix], "contentSize": str((paths.ROOT / path).stat().st_size),
    }  # fmt: skip


def _add(crate: ROCrate, name: str, more: dict | None = None):
    """A file or folder of the checkout as part of the crate."""
    if name.endswith("/"):
        return crate.add_directory(paths.ROOT / name, name, properties={"name": name} | (more or {}))
    return crate.add_file(paths.ROOT / name, name, properties=_properties(name) | (more or {}))
