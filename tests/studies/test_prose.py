"""No number in prose: digits of a README are quoted, a setting, or generated."""

from functools import cache

import pytest
from shallows.studies.paper import numbers
from shallows.studies.paper.prose import ABSENT, fill, settings_of, slots, typed_numbers
from shallows.studies.paper.study import find

PAPERS = sorted({figure.path.parent for figure in find()})
TEXTS = [readme for paper in PAPERS for readme in [paper / "README.md", *sorted(paper.glob("*/README.md"))]]
IDS = [str(path.relative_to(path.parents[2])) for path in TEXTS]


@cache
def settings(directory):
    """The settings of a figure, or of a paper with all its figures."""
    figures = [f for f in find() if directory in (f.path, f.path.parent)]
    return frozenset().union(*map(settings_of, figures))


@pytest.mark.parametrize("readme", TEXTS, ids=IDS)
def test_no_number_is_typed(readme):
    assert typed_numbers(readme.read_text(encoding="utf-8"), settings(readme.parent)) == []


@pytest.mark.parametrize("readme", TEXTS, ids=IDS)
def test_every_slot_names_a_claim_or_a_number(readme):
    paper = readme.parent if readme.parent in PAPERS else readme.parent.parent
    figures = {figure.name: figure for figure in find(paper.name)}
    known = {f"{name}/{claim.id}" for name, figure in figures.items() for claim in figure.claims}
    for slot in slots(readme.read_text(encoding="utf-8")):
        name, _, rest = slot.partition("/") if "/" in slot else (readme.parent.name, "", slot)
        has_numbers = name in figures and figures[name].declared.numbers
        assert f"{name}/{rest}" in known or has_numbers, slot


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("SDC takes 1.03 ms.", ["1.03 ms"]),
        ('The thesis: "1.03 ms"; run: `25KB`, {{ afct-sdc }}.', []),
        ('Somebody said "1.03 ms".', ["1.03 ms"]),
        ("Figure 3.7, section 2.2.2, eqs. (3.9), (3.10) and RFC 8257 of 2017; K1, D2TCP and M/G/1.", []),
        ("40 servers of `25 KB` lose 32 %.", ["40", "32 %"]),
        ("`40` servers of `24 KB`, K = `65` and `K = 40`.", ["24 KB", "65"]),
        ("It holds for 10 000 flows and -4.5 points.", ["10000", "4.5"]),
        ("Marked from 35/30 on, by ns-2; switch 1 has 512 KB.", ["35", "30", "512 KB"]),
        ("`fig3-9`, `sdc_rule.py`, `fig2/a-1`, `./shallows theory k=65` and flow `1->2`.", []),
    ],
)
def test_what_counts_as_typed(text, found):
    """A number that only happens to be a setting is typed too: it must be named as one, in backquotes."""
    assert typed_numbers(f"# A title\n\n{text}", {"40", "25 KB", "25"}) == found


def test_settings_are_those_of_the_figure_alone():
    (figure,) = find("sdc-racs/fig3-7")
    known = settings_of(figure)
    assert {"100 packets", "40", "1 Gb/s", "300 us", "20 packets"} <= known
    assert "25 KB" not in known  # of the incast, another figure
    assert "95" not in known  # of a claim


def test_slots_are_filled_from_results():
    known = {
        "fig/afct": {
            "measured": 1.0279,
            "ci95": [1.0236, 1.0322],
            "unit": "ms",
            "verdict": "holds-if",
            "cause": {"kind": "open", "run": "window=2", "words": "a window of two", "shown": True},
            "note": "",
        },
        "fig/less": {
            "measured": True,
            "ci95": None,
            "unit": "",
            "verdict": "holds",
            "note": "-0.5 [-0.6, -0.4] ms",
        },
    }
    known["fig/open"] = {"measured": None, "ci95": None, "note": "", "because": "0.1 [-1, 1] ms"}
    assert fill("{{ open }}, {{ note: open }}", known, "fig") == ", ".join(
        2 * ["0.1 [-1, 1] ms (not determined)"]
    )
    text = "{{ afct }}; {{ value: fig/afct }}; {{ less }}; {{ verdict: afct }}; {{ other }}"
    assert fill(text, known, "fig") == (
        f"1.028 [1.024, 1.032] ms; 1.028 ms; -0.5 [-0.6, -0.4] ms; holds with a window of two; {ABSENT}"
    )
    known["fig/differs"] = {
        "measured": 2.0, "ci95": None, "unit": "ms", "published": 3.5, "published_text": "3.50",
        "cause": {"kind": "open", "run": "", "words": "the text gives no g", "shown": False},
    }  # fmt: skip
    assert fill("{{ published: differs }}; {{ cause: differs }}; {{ cause: less }}", known, "fig") == (
        f"3.50 ms; the text gives no g; {ABSENT}"
    )


@pytest.mark.parametrize(
    ("value", "low", "high", "said"),
    [
        (1.0279, 1.0236, 1.0322, "1.028 [1.024, 1.032]"),
        (31.713, 30.2, 33.2, "31.7 [30.2, 33.2]"),
        (7.8e-15, -1e-15, 2e-14, "0 [0, 0]"),
        (12345.6, 12000, 12700, "12346 [12000, 12700]"),
        (True, None, None, "yes"),
        (0.123456, None, None, "0.1235"),
    ],
)
def test_numbers_are_written_as_by_a_person(value, low, high, said):
    assert numbers.estimate(value, low, high) == said


def test_without_an_interval_a_number_has_the_published_decimals():
    assert numbers.estimate(2690.3262, like="2690.26") == "2690.33"
    assert numbers.estimate(-0.00342, like="-0.01") == "-0.00342"
    assert numbers.estimate(198.9, like="200.0") == "198.9"


def test_distances_are_no_percentages_of_percentages_or_of_nothing():
    assert numbers.away(4.56, 12.0, "ms") == "by -7.44 ms (38 % of the published value)"
    assert numbers.away(42.0, 2.0, "ms") == "by +40 ms (21 times the published value)"
    assert numbers.away(2.1, 2.0, "ms") == "by +0.1 ms (+5 %)"
    assert numbers.away(3.3, 0.0, "ms") == "by +3.3 ms"
    assert numbers.away(95.0, 98.0, "%") == "by -3 %" and numbers.away(-4.6, -0.01, "%") == "by -4.59 %"
    assert "e" not in numbers.away(123456.0, 1.0, "us").split()[1]
    assert numbers.published(2690.26, "2690.26") == "2690.26" and numbers.published(12.0) == "12"
