"""Files in and files out on the command line: `import`, `--csv`, `--format`, `--point`."""

import pytest
from conftest import SMALL, shallows, write_toml

NETWORK = "5 1 4\n0\n" + "".join(f"0 {i} 100Gbps 0.001ms 0\n" for i in range(1, 5))
FLOWS = "2\n2 1 3 100 2000000 2\n3 1 3 100 2000000 2\n4 1 3 100 1500000 2\n"


@pytest.fixture
def files(tmp_path):
    (tmp_path / "topology.txt").write_text(NETWORK)
    (tmp_path / "flow.txt").write_text(FLOWS)
    return tmp_path


def test_an_import_prints_what_it_understood_and_writes_an_experiment_that_runs(files):
    done = shallows("import", "topology.txt", "flow.txt", "-o", "mine.toml", cwd=files)
    assert done.returncode == 0, done.stderr
    for line in (
        "4 hosts, 1 switches, 4 links (100Gbps)",
        "2 flows between 3 hosts",
        "1 further lines are not read, as in HPCC's simulator",
        "wrote mine-flow.csv",
    ):
        assert line in done.stdout
    assert "1 further lines are not read" in (files / "mine.toml").read_text()
    again = shallows("import", "topology.txt", "flow.txt", "-o", "mine.toml", cwd=files)
    assert again.returncode == 2 and "exists already and is not overwritten" in again.stderr
    run = shallows("run", "mine.toml", "--metric", "*fct_p99_ps", cwd=files)
    assert run.returncode == 0, run.stderr


def test_the_two_flows_of_hpcc_share_the_link(files):
    """2 x 2.124 MB on the wire over 100 Gb/s: both end some 342 us after their start."""
    shallows("import", "topology.txt", "flow.txt", "-o", "mine.toml", cwd=files)
    done = shallows("run", "mine.toml", "--csv", "out", cwd=files)
    assert done.returncode == 0, done.stderr
    (text,) = (path.read_text() for path in (files / "out").glob("*/fct.txt"))
    rows = [line.split() for line in text.splitlines()]
    assert [row[5] for row in rows] == ["2000000000", "2000000000"]
    assert all(340_000 < int(row[6]) < 346_000 for row in rows)
    assert [row[0] for row in rows] == ["0b000201", "0b000301"] or [row[0] for row in rows] == [
        "0b000301",
        "0b000201",
    ]


def test_nothing_is_written_if_a_file_is_wrong(files):
    (files / "flow.txt").write_text("3\n2 1 3 100 nan 2\n")
    done = shallows("import", "topology.txt", "flow.txt", "-o", "mine.toml", cwd=files)
    assert done.returncode == 2 and "promises 3 flows" in done.stderr and "line 2 of flow.txt" in done.stderr
    assert "Traceback" not in done.stderr and not (files / "mine.toml").exists()


def test_an_import_needs_a_place_that_is_there(files):
    done = shallows("import", "topology.txt", "-o", "nowhere/mine.toml", cwd=files)
    assert done.returncode == 2 and "a directory that is there" in done.stderr
    done = shallows("import", "topology.txt", "-o", "mine.txt", cwd=files)
    assert done.returncode == 2 and "must end in .toml" in done.stderr


def test_a_run_says_what_its_file_has_and_it_has_not(files):
    (files / "case.toml").write_text(
        'duration = "2005ms"\ntopology = { kind = "graph", name = "topology.txt" }\n'
        'queue = { kind = "threshold" }\ntransport = { cc = "dctcp" }\n'
        'traffic.x = { kind = "table", name = "flow.txt" }\n'
    )
    done = shallows("run", files / "case.toml", cwd=files.parent)
    assert done.returncode == 0, done.stderr
    assert (
        "note: traffic.x.name: flow.txt: the first line says 2 flows: 1 further lines are not read"
        in done.stdout
    )


def test_one_point_of_a_sweep(tmp_path):
    sweep = {"grid": {"queue.mark_at": ["5pkt", "20pkt"]}}
    file = write_toml(tmp_path / "swept.toml", SMALL | {"sweep": sweep})
    done = shallows("run", file, "--point", "2", "--csv", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len((tmp_path / "out/runs.csv").read_text().splitlines()) == 2
    wrong = shallows("run", file, "--point", "3", cwd=tmp_path)
    assert wrong.returncode == 2 and "must be the number or label of a point: 1 " in wrong.stderr
    plain = shallows("run", file, cwd=tmp_path)
    assert plain.returncode == 2 and "--point 1 runs the first" in plain.stderr


def test_figures_come_as_pdf_and_png(tmp_path, small_file):
    options = ("--format", "pdf", "--format", "png")
    done = shallows("run", small_file, *options, "--report", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    suffixes = {path.suffix for path in (tmp_path / "reports").rglob("*.*")}
    assert {".svg", ".pdf", ".png"} <= suffixes
    (pdf,) = (tmp_path / "runs").glob("*/queue.pdf")
    assert pdf.read_bytes().startswith(b"%PDF")
    done = shallows(
        "compare", small_file, "--vary", "queue.mark_at=5pkt,20pkt", "--seeds", 2, *options, cwd=tmp_path
    )
    assert done.returncode == 0 and list((tmp_path / "reports").rglob("compare-*/*.pdf")), done.stderr


def test_a_directory_of_tables_is_refused_before_anything_runs(tmp_path, small_file):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years")
    done = shallows("run", small_file, "--csv", "mine", cwd=tmp_path)
    assert done.returncode == 1 and "was not made by Shallows" in done.stderr
    assert not (tmp_path / "runs").exists()


def test_reproduce_writes_its_figures_as_pdf_too(tmp_path):
    done = shallows("reproduce", "ecn-or-delay/fig3", "--quick", "--format", "pdf", cwd=tmp_path)
    assert done.returncode in (0, 1), done.stderr
    pdfs = [*(tmp_path / "reports").rglob("*.pdf")]
    assert pdfs and all(pdf.with_suffix(".svg").is_file() for pdf in pdfs)


def test_metrics_may_stand_in_one_option(tmp_path, small_file):
    done = shallows("run", small_file, "--metric", "drops,marks", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "drops" in done.stdout and "marks" in done.stdout and "timeouts" not in done.stdout
