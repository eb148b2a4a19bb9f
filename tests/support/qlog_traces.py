"""Laws of every connection that is written as qlog."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any


def each_packet_once(events: Sequence[dict[str, Any]]) -> Counter[str]:
    """Holds that packets are sent once, in order, and end once at most: acknowledged or lost.

    Returns how many events of each name there are.
    """
    times = [event["time"] for event in events]
    assert times == sorted(times)
    sent, ended = [], Counter[int]()
    for event in events:
        data = event["data"]
        number = data.get("header", {}).get("packet_number")
        if event["name"] == "quic:packet_sent":
            sent.append(number)
        elif event["name"] == "quic:packet_lost":
            ended[number] += 1
        elif event["name"] == "quic:packet_received":
            for frame in data.get("frames", ()):
                for first, *last in frame["acked_ranges"]:
                    ended.update(range(first, (last or [first])[0] + 1))
    assert sent == list(range(len(sent)))
    assert set(ended) <= set(sent) and max(ended.values()) == 1
    return Counter(event["name"] for event in events)
