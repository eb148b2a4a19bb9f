"""Rules of memory: shared buffers, accounts of flow control, pauses, and trimming."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from shallows.audit.accounts import NEVER, Event, State, Switch, Threshold
from shallows.audit.quantities import level
from shallows.audit.rule import Breach, first, rule, times
from shallows.audit.rules import followed, queue_found
from shallows.audit.trace import matches

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    from shallows.audit.trace import Trace


def _switch(trace: Trace, node: str) -> Mapping[str, Any]:
    found: dict[str, Any] = {}
    for names, over in trace.experiment.get("switch", {}).items():
        if any(matches(name.strip(), node) for name in names.split(",")):
            found |= over
    return found


@rule("shared", "Choudhury and Hahne 1998 s.III: a queue takes packets while it is below alpha (B - Q)")
def shares_by_threshold(trace: Trace) -> Iterator[Breach]:
    """A packet is accepted if its port's queue is below the dynamic threshold and fits, else refused."""
    import polars as pl

    if not trace.experiment.get("switch"):
        return
    if trace.experiment.get("pfc") or any(
        p.get("pfc") for p in trace.experiment.get("priority", {}).values()
    ):
        return trace.skip("shared", "lossless packets pass by the dynamic threshold")
    if trace.changes:
        return trace.skip("shared", "links change or wires disturb packets")
    switches = trace.hops.filter(pl.col("is_switch") == 1).partition_by("from", as_dict=True)
    for (node,), rows in switches.items():
        settings = _switch(trace, str(node))
        memory = level(str(settings.get("buffer", "none")))
        if memory is None:
            continue
        if settings.get("reserve", "none") != "none" or rows["came"].null_count() or rows["trimmed"].sum():
            trace.skip("shared", "priorities have reserves, or a switch makes or cuts packets")
            continue
        yield from _shared(trace, str(node), rows, memory[0], settings.get("alpha", 1.0))


def _occupied(rows: pl.DataFrame, at: np.ndarray, late: bool) -> np.ndarray:
    """Bytes held at `at`. `late`: those that came at the instant count, and those that leave then do."""
    import numpy as np

    came, left = rows["came"].to_numpy().astype("i8"), rows["time_ps"].to_numpy().astype("i8")
    size = rows["size"].to_numpy().astype("i8")
    by_came, by_left = np.argsort(came, kind="stable"), np.argsort(left, kind="stable")
    entered, gone = (np.concatenate([[0], np.cumsum(size[order])]) for order in (by_came, by_left))
    inside = np.searchsorted(came[by_came], at, side="right" if late else "left")
    outside = np.searchsorted(left[by_left], at, side="left" if late else "right")
    return entered[inside] - gone[outside]


def _shared(trace: Trace, node: str, rows: pl.DataFrame, memory: int, alpha: Any) -> Iterator[Breach]:
    import numpy as np
    import polars as pl

    lost = trace.losses.filter((pl.col("from") == node) & (pl.col("cause") == "drops_buffer"))
    until = _held_from(trace, node)
    for (port,), own in rows.partition_by("port", as_dict=True).items():
        at, size = own["came"].to_numpy().astype("i8"), own["size"].to_numpy().astype("i8")
        # The least that can have been held as it came: others of the same instant count as later.
        free, queue = memory - _occupied(rows, at, False), _occupied(own, at, False)
        fits = (size <= free) & ((alpha == "none") | (queue < _times(alpha, free)))
        wrong = np.flatnonzero(~fits)
        if len(wrong):
            place = int(wrong[0])
            text = f"a packet is accepted at {queue[place]} bytes of its queue and {free[place]} free ones"
            yield Breach(text, int(at[place]), str(port), len(wrong))
        refused = lost.filter((pl.col("port") == port) & (pl.col("time_ps") < until))
        at, size = refused["time_ps"].to_numpy().astype("i8"), refused["size"].to_numpy().astype("i8")
        free, queue = memory - _occupied(rows, at, True), _occupied(own, at, True)
        fits = (size <= free) & ((alpha == "none") | (queue < _times(alpha, free)))
        yield from first(
            refused.filter(pl.Series(fits, dtype=pl.Boolean)),
            "packet {seq} of flow {flow} had room in the shared buffer",
        )


def _held_from(trace: Trace, node: str) -> int:
    """When the first packet came to the node that is still there at the end."""
    import polars as pl

    came = trace.kept.filter(pl.col("node") == node)["came"].to_list()
    return int(min(came, default=trace.duration))


def _times(alpha: Any, free: np.ndarray) -> np.ndarray:
    return free * (0.0 if alpha == "none" else float(alpha))


@rule("account", "IEEE 802.1Q-2018 clause 36: a switch keeps account of the bytes that came by each port")
def keeps_accounts(trace: Trace) -> Iterator[Breach]:
    """The most bytes held in a lossless priority that came by a port are those of the table `pauses`."""
    import numpy as np
    import polars as pl

    table = trace.tables["pauses"].filter(pl.col("max_held_bytes").is_not_null())
    if not len(table):
        return
    number = _priority(trace)
    if trace.warmup or trace.changes or number is None:
        why = (
            "statistics begin later, links change, or the priority of a packet does not follow from its load"
        )
        return trace.skip("account", why)
    rows = trace.hops.filter((pl.col("is_switch") == 1) & pl.col("came_by").is_not_null())
    rows = rows.with_columns(number.alias("priority"))
    lost = trace.losses
    if len(lost) or len(trace.kept) or rows["trimmed"].sum():
        # A packet that is held at the end is charged from its landing on.
        trace.skip("account", "packets that are lost or held at the end have no departure")
    exact = not len(lost) and not rows["trimmed"].sum()
    kept = trace.kept.with_columns(number.alias("priority"))
    for port in table.iter_rows(named=True):
        here, there = ends_of(port["port"])
        by = f"{there}->{here}"
        own = rows.filter((pl.col("came_by") == by) & (pl.col("priority") == port["priority"]))
        more = kept.filter((pl.col("came_by") == by) & (pl.col("priority") == port["priority"]))
        came = np.concatenate([frame["came"].to_numpy().astype("i8") for frame in (own, more)])
        size = np.concatenate([own["size"].to_numpy(), more["size_before"].to_numpy()]).astype("i8")
        left = own["time_ps"].to_numpy().astype("i8")
        least, most = (_most(came, size, left, size[: len(own)], late) for late in (False, True))
        if not (least <= port["max_held_bytes"] and (not exact or port["max_held_bytes"] <= most)):
            text = f"{port['max_held_bytes']} bytes are the most that priority {port['priority']} held"
            yield Breach(f"{text}, and the packets say {most}", trace.duration, port["port"])


def ends_of(port: str) -> tuple[str, str]:
    """The ends of a port; a number of one of several cables stays behind."""
    here, there = port.split("#")[0].split("->")
    return here, there


def _most(came: np.ndarray, size: np.ndarray, left: np.ndarray, gone: np.ndarray, late: bool) -> int:
    """The most that is held; `late`: packets that leave at an instant do so after those that come then."""
    import numpy as np

    if not len(came):
        return 0
    at = np.concatenate([came, left])
    change = np.concatenate([size, -gone])
    order = np.lexsort((change if not late else -change, at))
    return int(max(0, np.cumsum(change[order]).max()))


QUANTA = {10: 60, 25: 80, 40: 118, 100: 394, 400: 905}
"""IEEE 802.3-2018 s.31B.3.7: quanta of 512 bits that a port may take to obey, by its rate in Gb/s."""


def _ends(came: np.ndarray, left: np.ndarray, sizes: tuple[np.ndarray, np.ndarray], at: tuple[int, int],
          late: bool) -> list[tuple[int, int]]:  # fmt: skip
    """When an account reaches XOFF and XON, `at` so many bytes. `late`: departures go last."""
    import numpy as np

    xoff, xon = at
    change = np.concatenate([sizes[0], -sizes[1]])
    time = np.concatenate([came, left])
    order = np.lexsort((-change if late else change, time))
    shared = headroom = 0
    closed, found = -1, []
    for now, more in zip(time[order].tolist(), change[order].tolist(), strict=True):
        if more > 0 and closed >= 0:
            headroom += more
        elif more > 0:
            shared += more
            closed = now if shared >= xoff else -1
        else:
            # The packets beyond XOFF are taken off first.
            beyond = min(headroom, -more)
            headroom, shared = headroom - beyond, shared + more + beyond
            if closed >= 0 and not headroom and shared <= xon:
                found.append((closed, now))
                closed = -1
    return found + ([(closed, NEVER)] if closed >= 0 else [])


def _threshold(trace: Trace, port: str, most: int) -> Threshold:
    """XOFF of a port in bytes, its share of the free memory, and how far below XON lies."""
    found: dict[str, Any] = {}
    for names, over in trace.experiment.get("port", {}).items():
        if any(matches(name.strip(), port) for name in names.split(",")):
            found |= over
    xoff, alpha = level(str(found.get("pfc_xoff", "none"))), found.get("pfc_alpha", 0.125)
    below = level(str(found.get("pfc_hysteresis", "2pkt"))) or (0, False)
    return Threshold(
        xoff[0] if xoff else None, None if alpha == "none" else float(alpha),
        below[0] * (most if below[1] else 1),
    )  # fmt: skip


@rule("xoff", "IEEE 802.1Qbb-2011 s.36.1: a pause at XOFF, its end at XON, and a peer that obeys in time")
def pauses_at_threshold(trace: Trace) -> Iterator[Breach]:
    """A port pauses its peer as often as its account reaches XOFF, and the peer obeys until XON."""
    import numpy as np
    import polars as pl

    table = trace.tables["pauses"].filter(pl.col("pauses_sent").is_not_null())
    if not len(table):
        return
    number = _priority(trace)
    # A packet that finds no room in a headroom is in no account (IEEE 802.1Qbb-2011 annex O).
    later = trace.losses.filter(pl.col("cause") != "drops_buffer")
    if trace.warmup or trace.changes or number is None or len(later):
        return trace.skip(
            "xoff", "links change, packets are lost, statistics begin later, or priorities vary"
        )
    rows = trace.hops.with_columns(number.alias("priority"))
    kept = trace.kept.with_columns(number.alias("priority"))
    most = int(trace.hops["size"].max() or 0)  # type: ignore[arg-type]
    memory = dict(table.group_by(pl.col("port").str.split("->").list.first()).agg(
        (pl.col("headroom_bytes") + most).sum()).iter_rows())  # fmt: skip
    followed_: set[str] = set()
    for row in table.iter_rows(named=True):
        here, there = ends_of(row["port"])
        law = _threshold(trace, row["port"], most)
        size = level(str(_switch(trace, here).get("buffer", "none")))
        inside = (pl.col("came_by") == f"{there}->{here}") & (pl.col("priority") == row["priority"])
        held = rows.filter(pl.col("from") == here)
        if size is None or held["came"].null_count():
            trace.skip("xoff", "a switch makes packets")
            continue
        # Packets that are held at the end fill the memory too.
        most_held = _fullest(held) + int(kept.filter(pl.col("node") == here)["size_before"].sum())
        lanes = len(trace.experiment["priority"]) * int((trace.ports["from"] == here).sum())
        taken = memory[here] + _reserve(trace, here) * lanes
        if law.alpha is not None or law.xoff is None or most_held + taken > size[0]:
            if here not in followed_:
                followed_.add(here)
                yield from _follows_memory(trace, here, size[0], rows, kept, most)
            continue
        at = law.xoff, max(0, law.xoff - law.below)
        own, more = held.filter(inside), kept.filter((pl.col("node") == here) & inside)
        came = np.concatenate([each["came"].to_numpy().astype("i8") for each in (own, more)])
        gone = own["size"].to_numpy().astype("i8")
        sizes = (np.concatenate([gone, more["size_before"].to_numpy().astype("i8")]), gone)
        left = own["time_ps"].to_numpy().astype("i8")
        early, late = (_ends(came, left, sizes, at, each) for each in (False, True))
        counts = sorted((len(early), len(late)))
        if not counts[0] <= row["pauses_sent"] <= counts[1]:
            text = (
                f"priority {row['priority']} reaches XOFF {counts[0]} times, and {row['pauses_sent']} pauses"
            )
            yield Breach(f"{text} are counted", trace.duration, row["port"])
        elif early == late:
            sent = rows.filter(
                (pl.col("port") == f"{there}->{here}") & (pl.col("priority") == row["priority"])
            )
            yield from _obeys(trace, row, sent, early, most)


def _follows_memory(
    trace: Trace, here: str, size: int, rows: pl.DataFrame, kept: pl.DataFrame, most: int
) -> Iterator[Breach]:
    """Accounts of one switch, of which XOFF follows the free memory."""
    import polars as pl

    table = trace.tables["pauses"].filter(pl.col("pauses_sent").is_not_null())
    table = table.filter(pl.col("port").str.split("->").list.first() == here)
    named = {int(number): bool(own.get("pfc")) for number, own in trace.experiment["priority"].items()}
    full = _largest(trace, rows)
    if full is None:
        return trace.skip("xoff", "no packet of the largest size is in a trace, and its size decides")
    own = _reserve(trace, here)
    ports = trace.ports.filter(pl.col("from") == here)["port"].to_list()
    lossy = [number for number, lossless in named.items() if not lossless]
    # Each headroom has one packet beside it, and each lossy priority of a port its reserve.
    taken = sum(row["headroom_bytes"] + full[row["priority"]] for row in table.iter_rows(named=True))
    names = [(row["port"], row["priority"]) for row in table.iter_rows(named=True)]
    accounts = {(f"{ends_of(port)[1]}->{here}", number): at for at, (port, number) in enumerate(names)}
    lanes = {(port, number): at for at, (port, number) in enumerate((p, n) for p in ports for n in lossy)}
    switch = Switch(
        size - taken - own * len(lanes), own, [_threshold(trace, port, most) for port, _ in names], len(lanes)
    )
    events, until = [], trace.duration
    mine = rows.filter(pl.col("from") == here).select(
        "came",
        "time_ps",
        pl.col("came_by").cast(pl.String),
        pl.col("port").cast(pl.String),
        "priority",
        "size",
    )
    for came, left, by, port, number, bytes_ in mine.iter_rows():
        account, lane = accounts.get((by, number), -1), lanes.get((port, number), -1)
        events.append(Event(came, True, account, lane, bytes_))
        events.append(Event(left, False, account, lane, bytes_))
    # A packet that is held at the end has the port by which others of its connection leave.
    ways = rows.filter(pl.col("from") == here).group_by("flow", "reverse").agg(
        pl.col("port").first().cast(pl.String), pl.col("port").n_unique().alias("ways")
    )  # fmt: skip
    mine = kept.filter(pl.col("node") == here).join(ways, on=["flow", "reverse"], how="left")
    mine = mine.select("came", pl.col("came_by").cast(pl.String), "priority", "size_before", "port", "ways")
    for came, by, number, bytes_, port, several in mine.iter_rows():
        lane = lanes.get((port, number), -1)
        if number in lossy and several != 1:
            until = min(until, came)
        events.append(Event(came, True, accounts.get((by, number), -1), lane, bytes_))
    events.sort(key=lambda event: event.time)
    sent = table["pauses_sent"].to_list()
    states = switch.readings(events, until, sent)
    if states is None:
        return trace.skip("xoff", "events of one instant have too many orders that decide")
    whole = until == trace.duration
    states = [state for state in states if not whole or state.count == sent]
    if not states:
        free = switch.readings(events, until, [NEVER] * len(sent)) or [State(len(sent), len(lanes))]
        at = next((at for at, count in enumerate(free[0].count) if count != sent[at]), 0)
        text = f"priority {names[at][1]} reaches XOFF {free[0].count[at]} times, and {sent[at]} pauses"
        yield Breach(f"{text} are counted", trace.duration, names[at][0])
        return
    for at, row in enumerate(table.iter_rows(named=True)):
        if len(states) == 1 and whole and not states[0].blurred:
            closed = list(states[0].spans[at])
            closed += [(states[0].closed[at], NEVER)] if states[0].closed[at] >= 0 else []
            there = ends_of(row["port"])[1]
            by = (pl.col("port") == f"{there}->{here}") & (pl.col("priority") == row["priority"])
            yield from _obeys(trace, row, rows.filter(by), closed, most)


def _reserve(trace: Trace, here: str) -> int:
    """Bytes that each lossy priority of a port has for itself beside a lossless one."""
    reserve = level(str(_switch(trace, here).get("reserve", "none")))
    return 4096 if reserve is None else reserve[0]


def _largest(trace: Trace, rows: pl.DataFrame) -> dict[int, int] | None:
    """The largest packet of each priority, if each has one with all the data that fits."""
    import polars as pl

    whole: dict[int, int] = {}
    for load in trace.experiment["traffic"].values():
        own = load["transport"]
        size = level(str(own.get("mtu", own.get("mss", "none"))))
        if size is None:
            return None
        whole[int(own["priority"])] = max(whole.get(int(own["priority"]), 0), size[0])
    most = rows.group_by("priority").agg(pl.col("size").max(), pl.col("payload").max())
    found = {number: (size, payload) for number, size, payload in most.iter_rows()}
    for number, named in trace.experiment["priority"].items():
        if named.get("pfc") and found.get(int(number), (0, -1))[1] < whole.get(int(number), NEVER):
            return None
    return {number: size for number, (size, _) in found.items()}


def _fullest(rows: pl.DataFrame) -> int:
    """The most bytes that a switch holds of packets that leave it."""
    came, left = rows["came"].to_numpy().astype("i8"), rows["time_ps"].to_numpy().astype("i8")
    size = rows["size"].to_numpy().astype("i8")
    return _most(came, size, left, size, True)


def _obeys(
    trace: Trace, row: Mapping[str, Any], sent: pl.DataFrame, closed: list[tuple[int, int]], most: int
) -> Iterator[Breach]:
    """The peer begins no packet from its response to a pause until XON, and is paused for as long."""
    import numpy as np

    if not len(sent):
        return
    here, there = ends_of(row["port"])
    back = trace.ports.filter(trace.ports["port"] == row["port"])
    bps, back_bps = int(sent["rate_bps"][0]), int(back["rate_bps"][0])
    wires = sent["landed_ps"].drop_nulls().to_numpy().astype("i8")
    delay = int((wires - sent["time_ps"].to_numpy().astype("i8")[: len(wires)]).min(initial=trace.duration))
    quanta = next((each for gbps, each in QUANTA.items() if bps <= gbps * 10**9), QUANTA[400])
    # A frame that has begun goes first, then the pause of 84 bytes, the wire, and the peer's response.
    wait = -(-(most + 84) * 8 * 10**12 // back_bps)
    obeyed = wait + delay + quanta * 512 * 10**12 // bps
    begins = (
        sent["time_ps"].to_numpy().astype("i8") - sent["size"].to_numpy().astype("i8") * 8 * 10**12 // bps
    )
    for begin, end in closed:
        wrong = np.flatnonzero((begins > begin + obeyed) & (begins < end))
        if len(wrong):
            text = (
                f"priority {row['priority']} sends {begins[wrong[0]] - begin} ps after its peer reached XOFF"
            )
            yield Breach(f"{text}, and {obeyed} are allowed", int(begins[wrong[0]]), f"{there}->{here}")
            return
    table = trace.tables["pauses"]
    peer = table.filter(table["port"] == f"{there}->{here}", table["priority"] == row["priority"])
    due = sum(min(end, trace.duration) - begin for begin, end in closed)
    # Each frame, of XOFF and of XON, may wait for one that has begun.
    doubt = len(closed) * wait + obeyed
    if len(peer) == 1 and not peer["storms"][0] and abs(int(peer["paused_ps"][0]) - due) > doubt:
        text = (
            f"priority {row['priority']} is paused for {peer['paused_ps'][0]} ps, and its peer's account says"
        )
        yield Breach(f"{text} {due}", trace.duration, f"{there}->{here}")


@rule("pause", "IEEE 802.1Q-2018 s.36.1: a paused priority sends nothing, and one that is not paused does")
def pauses_and_resumes(trace: Trace) -> Iterator[Breach]:
    """A port rests with packets there no longer than it was paused, and sends in the other time."""
    import numpy as np
    import polars as pl

    table = trace.tables["pauses"]
    if not len(table):
        return
    if trace.warmup or trace.changes:
        return trace.skip("pause", "statistics begin later, or links change")
    paused = table.group_by("port").agg(pl.col("paused_ps").sum(), pl.col("frames_sent").sum())
    held = {row["port"]: row for row in paused.iter_rows(named=True)}
    for port, rows in trace.switched.items():
        if port not in held or rows["came"].null_count():
            continue
        time, came, takes = times(rows)
        # A pause frame of 64 bytes takes 84 on the wire, and goes between two packets.
        frame = -(-84 * 8 * 10**12 // int(rows["rate_bps"][0]))
        soonest = np.minimum.accumulate(came[::-1])[::-1]
        free_at = np.concatenate([[0], time[:-1]])
        rest = int(np.maximum(time - takes - np.maximum(free_at, soonest), 0).sum())
        allowed = held[port]["paused_ps"] + int(held[port]["frames_sent"] or 0) * frame
        if rest > allowed:
            text = f"the port rests for {rest} ps while packets wait, and pauses take {allowed}"
            yield Breach(text, trace.duration, port)
    number = _priority(trace)
    if number is None:
        return trace.skip("pause", "the priority of a packet does not follow from its load")
    takes_ps = pl.col("size").cast(pl.Int64) * 8 * 10**12 // pl.col("rate_bps").cast(pl.Int64)
    sent = trace.hops.with_columns(number.cast(pl.Int64).alias("priority"), takes_ps.alias("takes"))
    sent = sent.group_by("port", "priority").agg(
        pl.col("takes").sum(), pl.col("takes").max().alias("longest")
    )
    sent = sent.cast({"port": pl.String})
    rows = table.with_columns(pl.col("priority").cast(pl.Int64)).join(sent, on=["port", "priority"])
    rows = rows.with_columns(pl.lit(trace.duration).alias("time_ps"))
    # A packet under way when a pause comes is sent to its end.
    free = trace.duration - pl.col("paused_ps").cast(pl.Int64) + pl.col("paused") * pl.col("longest")
    text = "priority {priority} sends for {takes} ps, and was paused for {paused_ps}"
    yield from first(rows.filter(pl.col("takes") > free), text)


def _priority(trace: Trace) -> pl.Expr | None:
    """The priority of a packet, if its load and direction give it."""
    import polars as pl

    data, acks = {}, {}
    for name, load in trace.experiment["traffic"].items():
        own = load.get("transport", {})
        if own.get("demote_at") or "priority" not in own or own.get("cnp_priority", "none") != "none":
            return None
        data[name] = int(own["priority"])
        answer = own.get("ack_priority", "none")
        acks[name] = data[name] if answer == "none" else int(answer)
    back, there = (pl.col("traffic").replace_strict(each, return_dtype=pl.Int64) for each in (acks, data))
    return pl.when(pl.col("reverse") == 1).then(back).otherwise(there)


@rule("trimming", "Handley 2017 s.3.1: a full queue of data trims the packet that comes, or the newest one")
def trims_when_full(trace: Trace) -> Iterator[Breach]:
    """Data never exceed their limit, and a packet is trimmed only if the queue of data is full."""
    import numpy as np
    import polars as pl

    if "trimming" not in {trace.discipline(port, True)["kind"] for port in trace.switched}:
        return
    hosts = set(trace.ports.filter(pl.col("is_switch") == 0)["from"])
    loads = trace.experiment["traffic"].items()
    ultra = [name for name, load in loads if load["transport"].get("profile") == "uec"]
    for port, every in followed(trace, "trimming"):
        settings = trace.discipline(port, True)
        # Requests and probes of Ultra Ethernet wait with headers: they have the class of control.
        control = pl.col("traffic").is_in(ultra) & (pl.col("payload") == 0) & (pl.col("trimmed") == 0)
        data = (pl.col("reverse") == 0) & (pl.col("trimmed_before") == 0) & ~control
        rows = every.filter(data).sort("came")
        if settings["kind"] != "trimming" or not len(rows):
            continue
        room = settings["last_hop_room"] if ends_of(port)[1] in hosts else "none"
        limit = level(settings["limit"] if room == "none" else room)
        if limit is None:
            yield from first(
                rows.filter(pl.col("trimmed") == 1), "packet {seq} of flow {flow} is trimmed, without a limit"
            )
            continue
        cut = rows.filter(pl.col("trimmed") == 1)
        header = (level(settings["header"]) or (0, False))[0]
        yield from first(cut.filter(pl.col("size") != header), "a trimmed packet has {size} bytes")
        whole = rows.filter(pl.col("trimmed") == 0).sort("time_ps")
        if not len(whole):
            continue
        at, size = (frame.to_numpy().astype("i8") for frame in (rows["came"], rows["size_before"]))
        came = whole["came"].to_numpy().astype("i8")
        ahead = np.searchsorted(came, at, side="left")
        queue = queue_found(whole, at, ahead, size, settings, False)
        length, grows = (queue.packets, 1) if limit[1] else (queue.bytes, size)
        trimmed = rows["trimmed"].to_numpy() == 1
        over = np.flatnonzero(~trimmed & (length + grows > limit[0]))
        if len(over):
            text = f"a packet is queued behind {length[over[0]]}, and the limit is {settings['limit']}"
            yield Breach(text, int(at[over[0]]), port, len(over))
        # One packet that is trimmed later can stand in the queue: the newest, when the next one comes.
        spare = 1 if limit[1] else int(size.max())
        # All others that come at the same instant may have come before.
        most = queue_found(whole, at, np.searchsorted(came, at, side="right"), size, settings, False)
        full = (most.packets if limit[1] else most.bytes) + grows + spare > limit[0]
        # Packets that are held at the end have no row by which they count.
        known = at < _held_from(trace, ends_of(port)[0])
        early = np.flatnonzero(trimmed & ~full & ~np.append(full[1:], True) & known)
        if len(early):
            text = f"a packet is trimmed, and {length[early[0]]} are in the queue of data"
            yield Breach(text, int(at[early[0]]), port, len(early))
