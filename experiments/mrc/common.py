"""Common to the figures of this study: headers, queue pairs, and backends.

A full packet carries 4096 bytes. Around it MRC has the preamble and the gap (20), Ethernet (18), two headers
of IPv6 (80), UDP (8), BTH (12), RETH (16), TSETH (4) and ICRC (4). The document says "IPv6 in IPv6"; the sum
is ours.
"""

PAYLOAD = 4096
HEADER = 20 + 18 + 80 + 8 + 12 + 16 + 4 + 4
FULL = PAYLOAD + HEADER
BACKENDS = {
    "linux": "Linux hosts have no cards of several planes, and its queue disciplines trim nothing",
    "ns3": "the ns-3 backend has no Ultra Ethernet",
}
PAIRS = {1: "1 pair", 8: "8 pairs", 16: "16 pairs"}
"""Queue pairs of RoCE, and how a scheme is named by them."""


def line(gbps):
    """The payload's rate at the line rate of a card, in Gb/s."""
    return gbps * PAYLOAD / FULL
