"""NATs that change their mapping in mid-run: `linux.rebind`. Runs alone, on a kernel with features."""

import shutil
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec
from types import SimpleNamespace

import pytest
from conftest import ROOT, write_toml
from conftest import shallows as command
from shallows.backends.linux import offers, rebinding
from shallows.backends.linux.backend import Linux, checked
from shallows.document.check import check
from shallows.document.kernel_settings import read_linux
from shallows.document.points import one_run
from shallows.errors import SpecError
from test_linux import STAR
from test_linux_exec import NET, execute, texts
from test_linux_features import BUILT, needs_features

HOME = {"host": "r0", "at": "2s", "to": "port"}
AWAY = {"host": "r0", "at": "3s", "to": "address"}
HOSTS = {"s0": "10.1.0.1", "r0": "10.1.0.2"}


def with_rebinding(document=NET, **each):
    return document | {"linux": {"rebind": each}}


def rebindings(**each):
    return rebinding.of({"seed": 1, "linux": read_linux({"rebind": each}, [])}, HOSTS)


def run(tmp_path, *commands, rebind, **lab):
    return execute(tmp_path, *commands, document=with_rebinding(**rebind), kernel=BUILT["hash"], **lab)


# ---- without a kernel ----


def test_each_mapping_differs_from_all_before_it():
    names = [f"n{number}" for number in range(30)]
    asked = {name: HOME | {"at": f"{number}s"} for number, name in enumerate(names)}
    found = rebindings(**asked)
    flips = [each.flip for each in found]
    assert len(set(flips)) == 30 and all(0 < flip < 1024 for flip in flips)
    assert {each.outer for each in found} == {"10.1.0.2"}
    asked = {"late": AWAY | {"at": "9s"}, "home": HOME, "away": AWAY, "other": AWAY | {"host": "s0"}}
    found = {each.name: each for each in rebindings(**asked)}
    outer = {name: each.outer for name, each in found.items()}
    assert outer == {"home": "10.1.0.2", "away": "10.3.0.2", "late": "10.4.0.2", "other": "10.3.0.1"}
    assert found["late"].flip == found["away"].flip == found["home"].flip != 0 == found["other"].flip


@pytest.mark.parametrize(
    ("given", "path", "said"),
    [
        ({"host": "r0"}, "linux.rebind.home.at", "is required"),
        (HOME | {"to": "prot"}, "linux.rebind.home.to", "must be one of port, address"),
        (HOME | {"at": "2 pkt"}, "linux.rebind.home.at", ""),
    ],
)
def test_wrong_rebindings_are_refused_by_path(given, path, said):
    [fault] = [each for each in check(with_rebinding(home=given))[1] if each.path.startswith("linux")]
    assert fault.path == path and said in fault.rule


def test_hosts_and_times_are_those_of_the_run():
    resolved = one_run(
        with_rebinding(STAR | {"probe": {}}, a=HOME | {"host": "r1"}, b=HOME | {"at": "99999s"})
    ).experiment
    with pytest.raises(SpecError) as error:
        checked(resolved, None, programs=True)
    assert "linux.rebind.a.host" in str(error.value) and "linux.rebind.b.at" in str(error.value)
    assert "linux.rebind.b.host" in str(error.value) and "traffic.long" in str(error.value)
    with pytest.raises(SpecError) as error:
        checked(resolved, None)
    assert "linux.rebind: is about programs" in str(error.value) and "linux exec" in str(error.value)


def test_other_backends_refuse_it(tmp_path):
    file = write_toml(tmp_path / "net.toml", with_rebinding(STAR | {"probe": {}}, home=HOME))
    ran = command("run", file, cwd=tmp_path)
    assert ran.returncode == 2 and "linux" in ran.stderr


def test_a_kernel_without_bpf_is_refused_with_the_command_that_builds_one(monkeypatch):
    has = offers.Offers((), ("overlay",), (), (), (), {})
    monkeypatch.setattr(offers, "of", lambda kernel: has)
    kernel = SimpleNamespace(about={"version": "7.2.12"}, hash="70634b80")
    network = {"nodes": [{"name": "r0", "host": True}], "numbers": {"duration": 10**13}, "loads": {}}
    experiment = {"linux": read_linux({"rebind": {"home": HOME}}, [])}
    [fault] = rebinding.faults(experiment, network, kernel, programs=True)
    assert "needs programs in BPF" in fault.rule and fault.hint == "linux build --config features"
    monkeypatch.setattr(offers, "of", lambda kernel: replace(has, filesystems=("bpf",)))
    assert not list(rebinding.faults(experiment, network, kernel, programs=True))
    assert Linux().name == "linux"


# ---- with a kernel that has features ----

SERVER = """
import socket
s = socket.socket(type=socket.SOCK_DGRAM)
s.bind(("", 7))
first = None
while True:
    data, sender = s.recvfrom(9999)
    first = first or sender
    print(len(data), *sender, flush=True)
    s.sendto(data, sender)
    if sender != first:
        s.sendto(b"late", first)
"""

CLIENT = """
import socket, time
s = socket.socket(type=socket.SOCK_DGRAM)
s.connect(("s0", 7))
s.settimeout(0.5)
print(s.getsockname()[1])
for second in range(4):
    for size in (1, 4000):
        s.send(bytes(size))
        print(len(s.recv(9999)))
    time.sleep(1 - time.time() % 1)
"""


@needs_features
def test_a_server_sees_another_port_and_then_another_address(tmp_path):
    """The client's socket stays. 4000 bytes are three fragments, of which one has the port."""
    (tmp_path / "server.py").write_text(SERVER)
    (tmp_path / "client.py").write_text(CLIENT)
    commands = ("s0", f"{sys.executable} server.py &"), ("r0", f"sleep 0.5; {sys.executable} client.py")
    first, second = (run(tmp_path, *commands, rebind={"home": HOME, "away": AWAY}) for _ in range(2))
    assert texts(first) == texts(second)
    served, [port, *sizes] = (each.stdout.decode().splitlines() for each in first.programs)
    assert first.programs[1].status == 0 and sizes == ["1", "4000"] * 4, first.programs
    flip = rebindings(home=HOME)[0].flip
    flipped = int(port) ^ flip
    places = [("10.1.0.2", port)] * 4 + [("10.1.0.2", str(flipped))] * 2 + [("10.3.0.2", str(flipped))] * 2
    assert [tuple(line.split()[1:]) for line in served] == places
    # Answers to the first mapping, which nobody gets: two after each rebinding.
    lost = [line for line in first.notes if "NAT lost 2 packets to earlier ports or addresses" in line]
    assert len(lost) == 2 and "'home'" in lost[0] and "'away'" in lost[1], first.notes
    assert [each["address"] for each in first.about["rebindings"]] == ["10.1.0.2", "10.3.0.2"]
    flows = first.tables["program_flows"].filter(src="r0")
    assert flows["src_port"].to_list() == [int(port), flipped, flipped]
    assert flows["data_bytes"].to_list() == [8002, 4001, 4001]


@needs_features
def test_a_new_connection_and_a_ping_pass_and_an_old_connection_does_not(tmp_path):
    serve = (
        'import socket; s = socket.create_server(("", 9))\n'
        "while True:\n    c, who = s.accept(); print(*who, flush=True); c.sendall(bytes(200000)); c.close()"
    )
    (tmp_path / "server.py").write_text(serve)
    take = (
        'import socket, time; s = socket.create_connection(("s0", 9)); time.sleep({})\n'
        's.settimeout(5); print(sum(iter(lambda: len(s.recv(65536)), 0)) if {} else s.send(b"a"))\n'
        "time.sleep(1); s.send(b'b')"
    )
    (tmp_path / "new.py").write_text(take.format(0, True))
    (tmp_path / "old.py").write_text(take.format(2, False))
    found = run(
        tmp_path,
        ("s0", f"{sys.executable} server.py &"),
        ("r0", f"sleep 0.5; {sys.executable} old.py"),
        ("r0", f"sleep 2.2; {sys.executable} new.py; ping -c 2 -i 0.1 -n s0"),
        rebind={"away": AWAY | {"at": "2s"}},
    )
    server, old, new = found.programs
    seen = [line.split()[0] for line in server.stdout.decode().splitlines()]
    assert seen[0] == "10.1.0.2" and "10.3.0.2" in seen, found.programs
    assert new.stdout.startswith(b"200000\n") and b" 2 received" in new.stdout, new
    assert b"ConnectionResetError" in old.stderr or b"BrokenPipeError" in old.stderr, old


@needs_features
@pytest.mark.skipif(
    find_spec("aioquic") is None or not shutil.which("openssl"),
    reason="tools/uv run --with aioquic; apt install openssl",
)
@pytest.mark.parametrize("to", ["port", "address"])
def test_a_quic_connection_migrates(tmp_path, to):
    """RFC 9000 s.9.3: the server follows the client, and the transfer ends on its connection."""
    for script in (ROOT / "docs" / "programs").glob("quic_*.py"):
        shutil.copy(script, tmp_path)
    words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=s0"
    files = ["-keyout", tmp_path / "key.pem", "-out", tmp_path / "cert.pem"]
    subprocess.run(["openssl", *words.split(), *files], check=True, capture_output=True)
    found = run(
        tmp_path,
        ("s0", f"{sys.executable} quic_server.py &"),
        ("r0", f"sleep 1; {sys.executable} quic_client.py 1000000"),
        rebind={"home": {"host": "r0", "at": "1050ms", "to": to}},
    )
    client = found.programs[1]
    assert client.status == 0 and b"\n1000000 bytes in " in client.stdout, client
    before, after = found.tables["program_flows"].filter(src="r0").to_dicts()
    assert before["last_ps"] < after["first_ps"]
    assert (before["src_port"] != after["src_port"]) == (to == "port")
    assert any("NAT lost" in line for line in found.notes)
