"""Variants of experiments in TOML: declarations of a figure and its paper, and every fault of the file."""

import pytest
from shallows.errors import SpecError
from shallows.studies.paper.variants import read_settings, read_variants

PAPER = """
[settings.sack]
"transport.cc" = "newreno"
[settings.small]
queue = { kind = "drop-tail", limit = "10pkt" }
"""


@pytest.fixture
def figure(tmp_path):
    (tmp_path / "variants.toml").write_text(PAPER)
    (tmp_path / "fig").mkdir()

    def write(text):
        (tmp_path / "fig" / "variants.toml").write_text(text)
        return tmp_path / "fig"

    return write


def test_a_variant_takes_a_file_or_another_variant_and_the_last_setting_decides(figure):
    place = figure("""
[settings.large]
queue = { kind = "drop-tail", limit = "99pkt" }
[variant.a]
of = "../scenarios/mix.toml"
use = ["sack", "small", "large"]
[variant.b]
of = "a"
set = { "transport.cc" = "dctcp" }
""")
    large = {"kind": "drop-tail", "limit": "99pkt"}
    assert read_variants(place) == {
        "a": ("../scenarios/mix.toml", {"transport.cc": "newreno", "queue": large}),
        "b": ("../scenarios/mix.toml", {"transport.cc": "dctcp", "queue": large}),
    }
    assert list(read_settings(place.parent)) == ["sack", "small"]


def test_each_makes_a_variant_of_every_setting(figure):
    place = figure('[variant."*-x"]\nof = "spec.toml"\neach = ["small", "sack"]\nset = { duration = "1s" }\n')
    made = read_variants(place)
    assert list(made) == ["small-x", "sack-x"]
    assert made["sack-x"] == ("spec.toml", {"transport.cc": "newreno", "duration": "1s"})


def test_what_a_variant_changes_changes_no_other(figure):
    place = figure('[variant.a]\nof = "s.toml"\nuse = ["small"]\n[variant.b]\nof = "a"\n')
    made = read_variants(place)
    made["a"][1]["queue"]["limit"] = "1pkt"
    assert made["b"][1]["queue"]["limit"] == "10pkt"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[variant.a]\nof = "s.toml"\nuse = ["smal"]', 'did you mean "small"'),
        ('[variant.a]\nof = "b"', "or a variant above it"),
        ('[variant.a]\nof = "s.toml"\nused = []', "unknown key"),
        ("[variant.a]\nuse = []", "is required"),
        ('[variant.a]\nof = "s.toml"\neach = ["sack"]', '"\\*" in its name'),
        ('[variant."*"]\nof = "s.toml"', '"\\*" in its name'),
        ('[variant.sack]\nof = "s.toml"\n[variant."*"]\nof = "s.toml"\neach = ["sack"]', "there is already"),
    ],
)
def test_faults(figure, text, said):
    with pytest.raises(SpecError, match=said):
        read_variants(figure(text))


def test_all_faults_at_once(figure):
    with pytest.raises(SpecError) as caught:
        read_variants(figure('[variant.a]\nof = "b"\n[variant.b]\nof = "s.toml"\nuse = ["x", "y"]\n'))
    assert len(caught.value.faults) == 3


def test_a_figure_names_itself_to_get_the_variants_beside_it(figure):
    place = figure('[variant.a]\nof = "s.toml"\n')
    assert read_variants(str(place / "figure.py")) == read_variants(place) == {"a": ("s.toml", {})}
