# SPDX-License-Identifier: MIT
# Which files table data are made from.


def below(paper):
    """Paths of files, each from its place in the repository."""
    return lambda *names: [f"paper/{paper.id}/{name}" for name in names]


def data_code(paper):
    """What a paper's data depend on, beside its cells and numbers."""
    files = below(paper)(*(path.name for path in paper.code()))
    return [*ANALYSIS_CODE, *files, *below(paper)("paper.yaml")]


def ids_of(name, table):
    """The cells of a paper's table in this profile; of a report in the midst of measuring, those that have a result."""
    return cell_list.cell_ids(PROFILE, name, table, HELD)


def results_of(name, table):
    """Result files of these cells."""
    return [paths.result_path(PROFILE, cell) for cell in ids_of(name, table)]


def cells_file(name, table):
    """The list of these cells."""
    return f"{RESULTS}/{name}/cells/{table}.txt"


def committed(paper):
    """The reference numbers of a paper, if it has any."""
    return below(paper)(*(f"reference/{path.name}" for path in sorted(paper.reference.glob("*.csv"))))


def there(paper, *names):
    """Those of a paper's files that there are."""
    return below(paper)(*(name for name in names if (paper.folder / name).is_file()))


def published_of(paper, table):
    """Files with a table's printed numbers, and what else it is made from; a table of our own may have none."""
    beside = [f"paper/{name}/published/{path.name}" for name, path in papers.beside(table)]
    return [*there(paper, f"published/{table}.csv", *paper.tables[table].files), *beside]


def data_inputs(wildcards):
    """Everything that a table's data are made from."""
    paper, table = DATA[wildcards.data]
    drives = [f"{BUILD}/disk/show/{drive}.json" for _, drive in paper.tables[table].drives]
    measured = [*results_of(paper.id, table), cells_file(paper.id, table)] if table in paper.measured else []
    return [*published_of(paper, table), *data_code(paper), "config/schemas/result.schema.json", *drives, *measured]


def data_arguments(wildcards):
    """What the command line needs to know of a table."""
    paper, table = DATA[wildcards.data]
    drives = [f"--drive {side}={BUILD}/disk/show/{drive}.json" for side, drive in paper.tables[table].drives]
    measured = [f"--results {RESULTS} --cells {cells_file(paper.id, table)}"] if table in paper.measured else []
    return " ".join([f"--paper {paper.id} --table {table}", *drives, *measured])


def table_files(name, tables, before=""):
    """Table data of these tables."""
    return [f"{RESULTS}/{name}/tables/{before}{table}.csv" for table in tables]


def both_files(name, tables):
    """Table data of these tables, and what was made of them from the reference."""
    from_reference = [table for table in tables if table in papers.paper(name).committed]
    return table_files(name, tables) + table_files(name, from_reference, "reference.")
