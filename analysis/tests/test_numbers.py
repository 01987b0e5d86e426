# SPDX-License-Identifier: MIT
"""Rounding and conversion, as tables of cases."""

import math

import pytest

from analysis import numbers


@pytest.mark.parametrize(
    ("value", "printed", "expected"),
    [
        (31.64, "30.8", "31.6"),
        (31.65, "30.8", "31.7"),
        (0.95, "0.9", "1.0"),
        (2.25, "1.0", "2.3"),
        (1.005, "2.12", "1.01"),
        (499.5, "502", "500"),
        (-0.04, "0.1", "0.0"),
        (-0.4, "-35", "0"),
        (-100.0, "-100", "-100"),
        (283, "283.0", "283.0"),
        (1e-7, "0.1", "0.0"),
        (15.109890109890109, "15.11", "15.11"),
    ],
)
def test_numbers_like_printed(value, printed, expected):
    assert numbers.like(value, printed) == expected


@pytest.mark.parametrize(
    ("values", "mean", "std"),
    [([], None, None), ([2.0], 2.0, None), ([1.0, 3.0], 2.0, math.sqrt(2)), ([1.0, 2.0, 3.0], 2.0, 1.0)],
)
def test_numbers_mean_std(values, mean, std):
    assert numbers.mean_std(values) == (mean, std)


@pytest.mark.parametrize(
    ("reproduced", "published", "ratio"), [(3.0, 2.0, 1.5), (None, 2.0, None), (1.0, 0.0, None), (1.0, None, None)]
)
def test_numbers_ratio(reproduced, published, ratio):
    assert numbers.ratio(reproduced, published) == ratio


@pytest.mark.parametrize(("ratio", "off"), [(1.0, 1.0), (2.0, 2.0), (0.5, 2.0), (-1.0, math.inf)])
def test_numbers_off_is_symmetric(ratio, off):
    assert numbers.off(ratio) == off


@pytest.mark.parametrize(
    ("function", "ide", "scsi", "printed"),
    [
        (numbers.percent_faster_rate, 31.6, 15.8, "-100"),
        (numbers.percent_faster_rate, 23.5, 17.4, "-35"),
        (numbers.percent_faster_rate, 1.4, 2.1, "33"),
        (numbers.percent_faster_time, 10.1, 12.3, "-18"),
        (numbers.percent_faster_time, 502, 387, "30"),
    ],
)
def test_numbers_percent_as_table4_prints_it(function, ide, scsi, printed):
    assert numbers.like(function(ide, scsi), printed) == printed


def test_numbers_stored_has_a_fixed_form():
    assert [numbers.stored(value) for value in (2 / 3, 10.0, 1234567.8)] == ["0.6666667", "10", "1234568"]


def test_numbers_units():
    assert numbers.gb_from_sectors(60036480) == pytest.approx(30.739, abs=0.001)
    assert numbers.mb_from_kb(2048) == 2
    assert numbers.seconds(1_500_000_000) == 1.5
