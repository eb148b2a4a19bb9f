"""Training jobs: placements by name, scale-up domains, and faults of jobs in words before anything runs."""

import pytest
import shallows
from shallows.document.check import check
from shallows.tables import laws

FABRIC = {
    "duration": "50ms",
    "topology": {"kind": "leaf-spine", "leaves": 4, "spines": 2, "hosts_per_leaf": 4, "rate": "10Gbps"},
    "queue": {"kind": "drop-tail", "limit": "none"},
    "transport": {"cc": "newreno", "opening": "established"},
}
RAILS = FABRIC | {
    "topology": {"kind": "rail", "servers": 4, "rails": 2, "scale_up_rate": "400Gbps", "rate": "10Gbps"}
}


def job(**settings):
    return {"kind": "collective", "hosts": "*", "bytes": "96KB", "rounds": 1} | settings


def faults(fabric=FABRIC, **jobs):
    _, found = check(fabric | {"traffic": jobs})
    return {fault.path: fault for fault in found}


def ring(run, name):
    """The hosts of a ring, from the first rank on."""
    flows = run.tables["flows"].filter(run.tables["flows"]["traffic"] == name)
    to = dict(flows.select("src", "dst").iter_rows())
    hosts = [flows["src"][0]]
    while to[hosts[-1]] != hosts[0]:
        hosts.append(to[hosts[-1]])
    return hosts


def test_block_and_striped_fill_hosts_in_their_order(tmp_path):
    traffic = {"a": job(ranks=6), "b": job(ranks=6, placement="striped")}
    run = shallows.run(FABRIC | {"traffic": traffic}, store=tmp_path, progress=False)
    assert ring(run, "a") == ["h0", "h1", "h2", "h3", "h4", "h5"]
    # The first job holds leaf 0 and half of leaf 1: the rest of leaf 1 and leaves 2 and 3 take turns.
    assert ring(run, "b") == ["h6", "h8", "h12", "h7", "h9", "h13"]
    assert any(
        "traffic.b: ranks 0 to 5 are on h6, h8, h12, h7, h9, h13." in note for note in run.manifest["notes"]
    )
    assert laws.broken(run.tables, run.experiment, run.manifest["counts"]) == []


def test_random_is_drawn_by_the_seed_and_takes_no_host_twice(tmp_path):
    traffic = {"a": job(ranks=8, placement="random"), "b": job(ranks=8, placement="random")}
    placed = []
    for seed in (1, 1, 2):
        document = FABRIC | {"traffic": traffic, "seeds": [seed]}
        run = shallows.run(document, store=tmp_path, progress=False)
        placed.append((ring(run, "a"), ring(run, "b")))
        assert set(placed[-1][0]).isdisjoint(placed[-1][1])
    assert placed[0] == placed[1] != placed[2]


def test_striped_takes_servers_in_turn_where_cards_have_a_scale_up_domain(tmp_path):
    document = RAILS | {"traffic": {"a": job(placement="striped")}}
    run = shallows.run(document, store=tmp_path, progress=False)
    servers = [host.split(".")[0] for host in ring(run, "a")]
    assert servers == ["server0", "server1", "server2", "server3"] * 2


@pytest.mark.parametrize(
    ("settings", "path", "words"),
    [
        ({"ranks": 17}, "ranks", "must be at most 16: each rank needs a host of its own; `hosts` names 16"),
        ({"ranks": 1}, "ranks", 'must be >= 2, or "none"'),
        ({"hosts": "h0"}, "hosts", "a rank alone exchanges nothing"),
        ({"algorithm": "hierarchical"}, "group", "must say how many ranks a server has"),
        ({"algorithm": "hierarchical", "group": 5}, "group", "must divide the 16 ranks"),
        ({"algorithm": "hierarchical", "group": 16}, "group", "a hierarchy has several servers"),
        ({"group": 4}, "group", 'changes nothing: algorithm is not "hierarchical"'),
        ({"operation": "broadcast", "algorithm": "double-tree"}, "algorithm", 'must be "ring" or "tree"'),
        ({"operation": "all-gather", "algorithm": "tree"}, "algorithm", 'must be "ring" or "halving'),
        ({"operation": "send-recv", "algorithm": "tree"}, "algorithm", "no choice of algorithms"),
        ({"bytes": "96001B", "buckets": 2}, "bytes", "must be a multiple of 2"),
        ({"channels": 8, "chunks": 1000}, "bytes", "must be >= 128KB: each of 16 blocks of each of 8000"),
        ({"channels": 256, "bytes": "9GB", "chunks": 1000}, "hosts", "16 ranks make 122880000"),
    ],
)  # fmt: skip
def test_jobs_that_cannot_be_are_refused_in_words(settings, path, words):
    found = faults(a=job(**settings))
    assert [*found] == [f"traffic.a.{path}"], found
    assert words in found[f"traffic.a.{path}"].rule


def test_jobs_that_do_not_fit_beside_each_other_are_refused():
    [(path, fault)] = faults(a=job(ranks=12), b=job(ranks=5)).items()
    assert path == "traffic.b.ranks" and fault.value == "5"
    assert (
        "must be at most 4" in fault.rule and "jobs before this one in the file hold 12 of them" in fault.rule
    )


def test_cards_of_other_rails_need_spines_or_a_scale_up_domain():
    topology = {"kind": "rail", "servers": 2, "rails": 2, "spines": 0}
    [(path, fault)] = faults(FABRIC | {"topology": topology}, a=job()).items()
    assert path == "traffic.a" and "no links lead there" in fault.rule
    topology |= {"scale_up_rate": "400Gbps"}
    hierarchy = job(algorithm="hierarchical", group=2, hosts="server*")
    assert not faults(FABRIC | {"topology": topology}, a=hierarchy)


def test_an_operation_that_did_not_end_tells_its_steps(tmp_path):
    document = FABRIC | {"duration": "1ms", "traffic": {"a": job(bytes="4MB", ranks=4)}}
    run = shallows.run(document, store=tmp_path, progress=False)
    steps = run.tables["steps"]
    done = len(steps) - steps["fct_ps"].null_count()
    assert 0 < done < 6
    [line] = [line for line in run.happened if line.startswith("a: round 0")]
    words = "1 step" if done == 1 else f"{done} steps"
    assert f"; {words} ended, {len(steps) - done} had begun" in line
