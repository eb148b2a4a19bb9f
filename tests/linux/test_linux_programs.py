"""Programs of the examples in docs/linux-programs.md, over one bottleneck: each runs, and twice alike.

aioquic is no dependency:
`tools/uv run --frozen --with aioquic pytest tests/linux/test_linux_programs.py` has it.
"""

import re
import shutil
import subprocess
import sys
from importlib.util import find_spec

import pytest
from conftest import ROOT
from test_linux_exec import execute, needs_kernel, texts

# As root, since its workers would else be another user, and the directories of tests are closed to others.
NGINX = """user root; daemon off; error_log stderr;
events {} http { access_log /dev/stdout; server { listen 80; root www; } }
"""

SSHD = """
HostKey {place}/hostkey
AuthorizedKeysFile {place}/userkey.pub
StrictModes no
PidFile none
UsePAM no
PermitRootLogin yes
"""

CURL = "curl -s -o /dev/null -w '%{http_code} %{size_download} bytes in %{time_total} s' http://s0/file"

EXAMPLES = {
    "ping": ("sleep 9 &", "ping -c 3 -i 0.5 r0"),
    "curl": (f"{sys.executable} -m http.server 80 -d www &", f"sleep 1; {CURL}"),
    "nginx": ("nginx -p {place}/ -c nginx.conf &", f"sleep 0.1; {CURL}"),
    "iperf3": ("iperf3 -s &", "sleep 0.1; iperf3 -c r0 -t 1 -f k"),
    "tcpdump": ("tcpdump -n -tt --immediate-mode -i any icmp &", "sleep 0.5; ping -c 1 r0"),
    "ssh": (
        "mkdir -p /run/sshd; exec /usr/sbin/sshd -D -e -f {place}/sshd_config &",
        "sleep 0.1; ssh -i userkey -o StrictHostKeyChecking=no "
        "-o UserKnownHostsFile=/dev/null root@r0 hostname",
    ),
    "asyncio": (
        f"{sys.executable} asyncio_server.py &",
        f"sleep 0.3; {sys.executable} asyncio_client.py 1000000",
    ),
    "aioquic": (f"{sys.executable} quic_server.py &", f"sleep 1; {sys.executable} quic_client.py 100000"),
}
"""By program: the commands of the server and of the client."""

SENDS = ("curl", "nginx", "asyncio", "aioquic")
"""Those whose server sends the data: it stands on s0, so that they meet the queue."""


def kilobits(said):
    return int(re.search(rb"(\d+) Kbits/sec +receiver", said)[1])


def seconds(said):
    return float(re.search(rb"\d00000 bytes in ([\d.]+) s\s*$", said)[1])


EXPECTED = {
    "ping": lambda server, client: b"rtt min/avg/max/mdev = 8.015/8.015/8.016/0.000 ms" in client,
    # Two round trips of 8 ms and the 8.3 ms that 100 kB take; a name is looked up first.
    "curl": lambda server, client: client.startswith(b"200 ") and 0.024 < seconds(client) < 0.06,
    "nginx": lambda server, client: 0.024 < seconds(client) < 0.06 and b'"GET /file HTTP/1.1" 200' in server,
    "iperf3": lambda server, client: 80_000 < kilobits(client) < 97_000,
    "tcpdump": lambda server, client: b"ICMP echo reply" in server and b"1 received" in client,
    "ssh": lambda server, client: client == b"r0\n",
    # A megabyte takes 83 ms at 100 Mb/s, and a round trip of 8 ms opens the connection.
    "asyncio": lambda server, client: 0.091 < seconds(client) < 0.2,
    # A handshake takes a round trip (RFC 9001 s.4.1.1); 100 kB take 8.3 ms and a round trip at least.
    "aioquic": lambda server, client: client.startswith(b"handshake 8.") and 0.016 < seconds(client) < 0.1,
}


def installed(program):
    if program == "aioquic":
        return find_spec("aioquic") is not None and shutil.which("openssl")
    needs = {
        "asyncio": (),
        "nginx": ("nginx", "curl"),
        "ssh": ("ssh", "sshd", "ssh-keygen"),
        "tcpdump": ("tcpdump", "ping"),
    }
    path = "/usr/sbin:/sbin:/usr/bin:/bin"
    return all(shutil.which(each, path=path) for each in needs.get(program, (program,)))


@needs_kernel
@pytest.mark.parametrize("program", EXAMPLES)
def test_a_program_runs_and_is_repeated_to_the_byte(tmp_path, program):
    if not installed(program):
        pytest.skip(f"{program} is not installed")
    place = tmp_path / "lab"  # in which nothing changes
    (place / "www").mkdir(parents=True)
    (place / "www" / "file").write_bytes(bytes(100_000))
    (place / "nginx.conf").write_text(NGINX)
    (place / "sshd_config").write_text(SSHD.format(place=place))
    for script in (ROOT / "docs" / "programs").iterdir():
        shutil.copy(script, place)
    if program == "aioquic":
        words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=s0"
        files = ["-keyout", place / "key.pem", "-out", place / "cert.pem"]
        subprocess.run(["openssl", *words.split(), *files], check=True, capture_output=True)
    if program == "ssh":
        for key in ("hostkey", "userkey"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", place / key], check=True)
    server, client = (text.replace("{place}", str(place)) for text in EXAMPLES[program])
    at, of = ("s0", "r0") if program in SENDS else ("r0", "s0")
    first, second = (
        execute(place, (at, server), (of, client), captures={"r0": tmp_path / f"{n}.pcapng"})
        for n in range(2)
    )
    of_server, of_client = first.programs
    assert of_client.status == 0 and of_server.stopped, (of_client.stderr, of_server.stderr)
    assert EXPECTED[program](of_server.stdout, of_client.stdout), (of_server.stdout, of_client.stdout)
    assert not any("waited at no switch" in line for line in first.notes)
    assert texts(first) == texts(second) and first.queues.equals(second.queues)
    assert (tmp_path / "0.pcapng").read_bytes() == (tmp_path / "1.pcapng").read_bytes()
