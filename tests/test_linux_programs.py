"""Programs of the examples in docs/linux-programs.md, over one bottleneck: each runs, and twice alike."""

import re
import shutil
import subprocess
import sys

import pytest
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

CURL = "curl -s -o /dev/null -w '%{http_code} %{size_download} bytes in %{time_total} s' http://r0/file"

EXAMPLES = {
    "curl": (f"{sys.executable} -m http.server 80 -d www &", f"sleep 1; {CURL}"),
    "nginx": ("nginx -p {place}/ -c nginx.conf &", f"sleep 0.1; {CURL}"),
    "iperf3": ("iperf3 -s &", "sleep 0.1; iperf3 -c r0 -t 1 -f k"),
    "tcpdump": ("tcpdump -n -tt --immediate-mode -i any icmp &", "sleep 0.5; ping -c 1 r0"),
    "ssh": (
        "mkdir -p /run/sshd; exec /usr/sbin/sshd -D -e -f {place}/sshd_config &",
        "sleep 0.1; ssh -i userkey -o StrictHostKeyChecking=no "
        "-o UserKnownHostsFile=/dev/null root@r0 hostname",
    ),
}
"""By program: the commands of the server r0 and of the client s0."""


def kilobits(said):
    return int(re.search(rb"(\d+) Kbits/sec +receiver", said)[1])


def seconds(said):
    return float(re.fullmatch(rb"200 100000 bytes in ([\d.]+) s", said)[1])


EXPECTED = {
    # Two round trips of 8 ms and the 8.3 ms that 100 kB take; a name is looked up first.
    "curl": lambda server, client: 0.024 < seconds(client) < 0.06,
    "nginx": lambda server, client: 0.024 < seconds(client) < 0.06 and b'"GET /file HTTP/1.1" 200' in server,
    "iperf3": lambda server, client: 80_000 < kilobits(client) < 97_000,
    "tcpdump": lambda server, client: b"ICMP echo reply" in server and b"1 received" in client,
    "ssh": lambda server, client: client == b"r0\n",
}


def installed(program):
    needs = {"tcpdump": ("tcpdump", "ping"), "nginx": ("nginx", "curl"), "ssh": ("ssh", "sshd", "ssh-keygen")}
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
    if program == "ssh":
        for key in ("hostkey", "userkey"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", place / key], check=True)
    server, client = (text.replace("{place}", str(place)) for text in EXAMPLES[program])
    first, second = (
        execute(place, ("r0", server), ("s0", client), captures={"r0": tmp_path / f"{n}.pcapng"})
        for n in range(2)
    )
    of_server, of_client = first.programs
    assert of_client.status == 0 and of_server.stopped, (of_client.stderr, of_server.stderr)
    assert EXPECTED[program](of_server.stdout, of_client.stdout), (of_server.stdout, of_client.stdout)
    assert texts(first) == texts(second) and first.queues.equals(second.queues)
    assert (tmp_path / "0.pcapng").read_bytes() == (tmp_path / "1.pcapng").read_bytes()
