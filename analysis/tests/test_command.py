# SPDX-License-Identifier: MIT
"""What command lines share."""

import argparse

import pytest

from analysis import command
from lab.cell.errors import SpindleError


def finished(tmp_path, make, made_by=""):
    args = argparse.Namespace(out=tmp_path / "folder" / "out.txt")
    return command.finish("some.program", args, make, made_by), args.out


def test_command_writes_the_text(tmp_path):
    status, out = finished(tmp_path, lambda args: command.as_json({"b": 1}))
    assert (status, out.read_text()) == (0, '{\n "b": 1\n}\n')
    assert command.read_json(out) == {"b": 1}
    status, out = finished(tmp_path / "other", lambda args: None)
    assert status == 0 and not out.exists()


@pytest.mark.parametrize("error", [SpindleError("it is bad; correct it"), OSError("it is bad; correct it")])
def test_command_error_is_one_message(tmp_path, capsys, error):
    def make(args):
        raise error

    status, out = finished(tmp_path, make)
    assert status == 1 and not out.exists()
    assert capsys.readouterr().err == "some.program: it is bad; correct it\n"


def test_command_missing_key_is_of_the_data_only_where_there_is_some(tmp_path, capsys):
    assert finished(tmp_path, lambda args: {}["key"], "data.json")[0] == 1
    assert capsys.readouterr().err == "some.program: no 'key' in data.json; make it again\n"
    with pytest.raises(KeyError):
        finished(tmp_path, lambda args: {}["key"])


def test_command_usual_arguments_are_required(tmp_path):
    parser = command.parser("text", "paper", "out")
    assert parser.parse_args(["--paper", "p", "--out", str(tmp_path)]).out == tmp_path
    with pytest.raises(SystemExit):
        parser.parse_args(["--paper", "p"])


def test_command_no_json_is_one_message(tmp_path):
    (tmp_path / "x.json").write_text("{")
    with pytest.raises(SpindleError, match=r"x.json: no JSON .*make it again"):
        command.read_json(tmp_path / "x.json")
