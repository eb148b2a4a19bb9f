"""The section `[linux]`: kernel, sysctls, module parameters and pacing, each verified in the guest."""

import re
from dataclasses import replace

import pytest
from conftest import shallows as command
from conftest import write_toml
from shallows.backends.linux import kernel, offers
from shallows.backends.linux.backend import Linux
from shallows.document.check import check, resolve
from shallows.document.kernel_settings import read_linux
from shallows.document.load import load
from shallows.document.points import expand, one_run
from shallows.errors import RunError, SpecError
from shallows.execution.runner import Runner
from shallows.studies.compare.section import read
from test_linux import STAR, needs_kernel
from test_linux_exec import NET, execute
from test_linux_kernels import keep

BULK = STAR | {"probe": {}}

# ---- without a kernel ----


def test_names_are_whole_and_values_are_the_kernels_texts():
    faults = []
    made = read_linux(
        {
            "kernel": "7.2",
            "sysctl": {
                "tcp_sack_x": True,
                "net": {"core": {"optmem_max": 5}, "ipv4": {"tcp_y": " 1  2\t3 "}},
            },
            "parameter": {"tcp_cubic": {"hystart": 0}, "tcp_bbr.x": "a"},
        },
        faults,
    )
    assert not faults
    assert made["sysctl"] == {"tcp_sack_x": "1", "net.core.optmem_max": "5", "tcp_y": "1 2 3"}
    assert made["parameter"] == {"tcp_cubic.hystart": "0", "tcp_bbr.x": "a"}
    assert read_linux(made, faults) == made and not faults


@pytest.mark.parametrize(
    ("section", "path", "said"),
    [
        ({"krnl": "7.2"}, "linux.krnl", "unknown key"),
        ({"kernel": 7.2}, "linux.kernel", "must be a text"),
        ({"sysctl": {"a b": 1}}, "linux.sysctl.a b", "is not the name of a setting"),
        ({"sysctl": {"tcp_x": [1]}}, "linux.sysctl.tcp_x", "must be a whole number"),
        ({"sysctl": {"tcp_x": "1\nrun /bin/sh"}}, "linux.sysctl.tcp_x", "must be a whole number"),
        ({"parameter": {"hystart": 0}}, "linux.parameter.hystart", "must be MODULE.NAME"),
        ({"pacing": 1}, "linux.pacing", "must be true or false"),
    ],
)
def test_wrong_settings_are_refused_by_path(section, path, said):
    _, faults = check(BULK | {"linux": section})
    assert [fault.path for fault in faults] == [path] and said in faults[0].rule


def test_the_section_is_a_part_of_the_run_and_other_backends_refuse_it(tmp_path):
    one, two = (one_run(BULK | {"linux": {"sysctl": {"tcp_x": n}}}) for n in (1, 2))
    assert len({one.key, two.key, one_run(BULK).key, one_run(BULK | {"linux": {}}).key}) == 3
    file = write_toml(tmp_path / "bulk.toml", BULK)
    ran = command("run", file, "--set", "linux.kernel=7.10", cwd=tmp_path)
    assert ran.returncode == 2
    assert "linux: is about the kernel of the backend linux" in ran.stderr and '"7.10"' in ran.stderr
    assert load(file, ["linux.kernel=6.10"])["linux"]["kernel"] == "6.10"


def test_it_can_be_compared_and_swept():
    what = read([BULK], vary=["linux.sysctl.tcp_x=5,33", "linux.parameter.tcp_cubic.hystart=0,1"], seeds=2)
    assert len(what.schemes) == 4
    grid = {"linux.sysctl.tcp_x": [5, 33], "linux.kernel": ["7.2", "6.12"]}
    points = expand(BULK | {"sweep": {"grid": grid}})
    assert [point.experiment["linux"]["kernel"] for point in points] == ["7.2", "6.12"] * 2


def test_a_kernel_is_chosen_by_the_file_and_by_the_option_before_it(tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    keep(cache, "aaaa000000000000", "6.12.9", "Debian's linux-source-6.12")
    keep(cache, "cccc000000000000", "7.2.12", "Debian's linux-source-7.2")
    monkeypatch.setenv("SHALLOWS_CACHE", str(cache))
    asks = resolve(BULK | {"linux": {"kernel": "6.12"}})
    assert Linux().chosen(asks).kernel == "6.12" and Linux("7.2").chosen(asks).kernel == "7.2"
    assert Linux().chosen(resolve(BULK)).kernel is None
    names = {Linux(each).fingerprint() for each in ("6.12", "7.2", None)}
    assert len(names) == 2  # the one built last is the default
    file = write_toml(tmp_path / "bulk.toml", BULK)
    on_linux = ["--backend", "linux"]
    for name, words in (
        (["run"], on_linux),
        (["sweep"], on_linux),
        (["compare"], [*on_linux, "--vary", "queue.mark_at=10pkt,20pkt", "--seeds", "2"]),
        (["linux", "exec"], ["--on", "s0", "true"]),
    ):
        ran = command(*name, file, *words, "--kernel", "6.99", cwd=tmp_path)
        assert ran.returncode == 2 and "must be a kernel that has been built; there is 6.12.9" in ran.stderr
    ran = command("run", file, "--kernel", "6.12", cwd=tmp_path)
    assert ran.returncode == 2 and "--kernel: needs --backend linux" in ran.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("CONFIG_A\n", "neither CONFIG_NAME=VALUE"),
        ("# nothing\n", "sets no option"),
        (None, "cannot be read"),
    ],
)
def test_a_fragment_of_configuration_is_checked_before_anything_is_built(tmp_path, text, said):
    if text is not None:
        (tmp_path / "own.config").write_text(text)
    ran = command("linux", "build", "--config", "own.config", cwd=tmp_path)
    assert ran.returncode == 2 and said in ran.stderr


def test_a_later_fragment_stands_above_an_earlier_one(tmp_path):
    own = tmp_path / "own.config"
    own.write_text("CONFIG_IPV6=y\n# CONFIG_TCP_CONG_BBR is not set\nCONFIG_TUN=y\n")
    taken = kernel._wanted((kernel.FRAGMENT, kernel.check_config(own)))
    assert "CONFIG_IPV6=y" in taken and "# CONFIG_IPV6 is not set" not in taken
    assert "CONFIG_TCP_CONG_BBR=y" not in taken


def test_the_default_of_fq_codel_is_told_with_the_option_that_mends_it():
    with pytest.raises(SpecError) as error:
        Linux().check(resolve(BULK | {"queue": {"kind": "fq-codel", "root": "exact"}}))
    assert "--set queue.root=newton" in str(error.value)


def test_a_minute_of_quick_is_promised_for_the_simulator_alone(tmp_path):
    """A figure took minutes on Linux."""
    said = command("reproduce", "--help", cwd=tmp_path).stdout.replace("│", " ")
    assert "in under a minute on the simulator; Linux takes longer" in " ".join(said.split())


# ---- with a kernel ----


@needs_kernel
def test_misspelt_settings_are_suggested_from_what_the_kernel_has():
    document = BULK | {"linux": {"sysctl": {"tcp_comp_sak_nr": 1}, "parameter": {"tcp_cubic": {"hystat": 0}}}}
    with pytest.raises(SpecError) as error:
        Linux().check(resolve(document))
    hints = [fault.hint for fault in error.value.faults]
    assert hints == ['did you mean "tcp_comp_sack_nr"?', 'did you mean "tcp_cubic.hystart"?']
    with pytest.raises(SpecError, match=re.escape("follows from transport.sack")):
        Linux().check(resolve(BULK | {"linux": {"sysctl": {"tcp_sack": 0}}}))
    known = offers.of(kernel.find())
    assert {"reno", "cubic"} <= set(known.controls) and "net.core.optmem_max" in known.sysctls


@needs_kernel
def test_settings_are_there_in_every_host_and_in_the_record(tmp_path):
    asked = {"sysctl": {"tcp_comp_sack_rtt_percent": 5, "net.core.optmem_max": 20481}}
    asked["parameter"] = {"tcp_cubic": {"hystart": 0, "bic_scale": 30}}
    words = (
        "cat /proc/sys/net/ipv4/tcp_comp_sack_rtt_percent; cd /sys/module/tcp_cubic/parameters;"
        " cat hystart bic_scale"
    )
    outcome = execute(tmp_path, ("*", words), document=NET | {"linux": asked})
    assert [each.stdout for each in outcome.programs] == [b"5\n0\n30\n"] * 2
    assert outcome.about["parameters"] == {"tcp_cubic.hystart": "0", "tcp_cubic.bic_scale": "30"}
    run = Runner.of(store=tmp_path / "runs", backend="linux").one(one_run(BULK | {"linux": asked}))
    assert run.manifest["linux"]["sysctls"]["tcp_comp_sack_rtt_percent"] == "5"
    assert run.manifest["experiment"]["linux"]["sysctl"]["net.core.optmem_max"] == "20481"


@needs_kernel
def test_a_value_that_the_kernel_does_not_take_ends_the_run(tmp_path):
    asked = {"sysctl": {"tcp_comp_sack_rtt_percent": 100_000}}
    with pytest.raises(RunError, match=r"tcp_comp_sack_rtt_percent (refuses|is)"):
        execute(tmp_path, ("s0", "true"), document=NET | {"linux": asked})


PACED = (
    "python3 -c 'import socket; s = socket.socket(type=socket.SOCK_DGRAM); s.setsockopt(1, 47, 125000);"
    ' [s.sendto(bytes(1222), ("r0", 7)) for _ in range(100)]; s.close()\'; sleep 1.5'
)
"""100 packets of 1250 bytes with SO_MAX_PACING_RATE at 1 Mb/s, less fq's first credit of 15140 bytes."""


@needs_kernel
@pytest.mark.parametrize("pacing", [False, True])
def test_a_pacing_rate_of_udp_is_obeyed_where_hosts_pace(tmp_path, pacing):
    document = NET | {"linux": {"pacing": pacing}}
    [flow] = (
        execute(tmp_path, ("s0", PACED), document=document)
        .tables["program_flows"]
        .filter(protocol="udp")
        .to_dicts()
    )
    assert flow["packets"] == 100
    took = (flow["last_ps"] - flow["first_ps"]) / 1e12
    assert took == pytest.approx((125_000 - 15_140) / 125_000, rel=0.02) if pacing else took < 0.02


@needs_kernel
def test_a_kernel_without_overlayfs_is_told_before_anything_runs(tmp_path, monkeypatch):
    has = offers.of(kernel.find())
    assert offers.runs_programs(kernel.find()) is None and "overlay" in has.filesystems
    monkeypatch.setattr(offers, "of", lambda used: replace(has, filesystems=("tmpfs",)))
    with pytest.raises(SpecError, match=r"linux exec: needs overlayfs, which Linux .* was built without"):
        execute(tmp_path, ("s0", "true"))
