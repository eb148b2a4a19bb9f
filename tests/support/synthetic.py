"""Small hand-made tables of a run, in the shape of docs/reference/tables.md."""

import numpy as np
import polars as pl
from shallows.tables.drops import causes

U32, U64, F64, STR = pl.UInt32, pl.UInt64, pl.Float64, pl.String
MS, US = 10**9, 10**6  # in picoseconds

SCHEMAS = {
    "flows": {
        **dict.fromkeys(["id"], U32),
        **dict.fromkeys(["traffic", "class", "cc", "src", "dst"], STR),
        **dict.fromkeys(["bytes", "start_ps", "end_ps", "fct_ps", "acked_ps"], U64),
        "goodput_bps": F64,
        **dict.fromkeys(
            ["delivered_bytes", "arrived_bytes", "packets_sent", "retransmissions", "timeouts"], U64
        ),
        **dict.fromkeys(["timeouts_head", "timeouts_tail"], U64),
        **dict.fromkeys(["fast_recoveries", "ecn_reductions", "marks", "drops"], U64),
        "wait_mean_ps": F64,
        "wait_packets": U64,
        **dict.fromkeys(["delay_mean_ps", "srtt_mean_ps", "cwnd_mean_bytes", "cwnd_bytes"], F64),
        **dict.fromkeys(["ssthresh_bytes", "alpha"], F64),
    },
    "messages": {
        "flow": U32,
        **dict.fromkeys(["traffic", "class"], STR),
        **dict.fromkeys(["round", "step"], U32),
        **dict.fromkeys(["bytes", "start_ps", "end_ps", "fct_ps", "ideal_ps"], U64),
        **dict.fromkeys(["acked_ps", "ideal_acked_ps"], U64),
        **dict.fromkeys(["slowdown", "slowdown_acked"], F64),
        "deadline_ps": U64,
        "met": U32,
    },
    "rounds": {
        "traffic": STR,
        **dict.fromkeys(["round", "responses"], U32),
        **dict.fromkeys(["bytes", "start_ps", "end_ps", "fct_ps", "ideal_ps"], U64),
        "slowdown": F64,
        **dict.fromkeys(["timeouts", "timeouts_head", "timeouts_tail"], U64),
    },
    "steps": {
        "traffic": STR,
        **dict.fromkeys(["round", "step"], U32),
        "name": STR,
        "messages": U32,
        **dict.fromkeys(["bytes", "start_ps", "end_ps", "fct_ps", "ideal_ps"], U64),
        "slowdown": F64,
    },
    "datagrams": {
        "flow": U32,
        **dict.fromkeys(["traffic", "class", "src", "dst"], STR),
        **dict.fromkeys(["sent", "arrived", "lost", "in_flight"], U64),
        "loss": F64,
        **dict.fromkeys(["copies", "overtaken", "late", "late_max_ps", "arrived_bytes", "delay_min_ps"], U64),
        "delay_mean_ps": F64,
        "delay_max_ps": U64,
        "jitter_ps": F64,
    },
    "credits": {
        "flow": U32,
        **dict.fromkeys(["traffic", "class", "src", "dst"], STR),
        **dict.fromkeys(["sent", "used", "wasted", "dropped", "in_flight"], U64),
        "loss": F64,
    },
    "queues": {
        "port": STR,
        **dict.fromkeys(["rate_bps", "over_ps", "packets_in", "packets_out", "packets_held"], U64),
        **dict.fromkeys(["bytes_in", "bytes_out", "bytes_held"], U64),
        **dict.fromkeys(["drops", *(cause.column for cause in causes()), "trims", "returned"], U64),
        "marks": U64,
        **dict.fromkeys(["mean_packets", "sd_packets"], F64),
        **dict.fromkeys(["min_packets", "max_packets"], U64),
        **dict.fromkeys(["p5_packets", "p50_packets", "p95_packets", "p99_packets"], U64),
        "mean_bytes": F64,
        "max_bytes": U64,
        **dict.fromkeys(["mean_wait_ps", "p50_wait_ps", "p95_wait_ps", "p99_wait_ps", "utilisation"], F64),
        "is_switch": U32,
    },
    "pauses": {
        "port": STR,
        **dict.fromkeys(["is_switch", "priority"], U32),
        **dict.fromkeys(["over_ps", "paused", "paused_ps"], U64),
        **dict.fromkeys(["storms", "storms_restored", "watchdog_drops", "pauses_sent", "frames_sent"], U64),
        **dict.fromkeys(["held_bytes", "max_held_bytes", "max_headroom_bytes", "headroom_bytes"], U64),
    },
    "queue_histogram": {"port": STR, "packets": U64, "time_ps": U64, "at_dequeue": U64},
    "inner_queues": {
        **dict.fromkeys(["port", "queue", "class", "what"], STR),
        **dict.fromkeys(["packets_in", "packets_out", "packets_held", "bytes_in"], U64),
        **dict.fromkeys(["drops", *(cause.column for cause in causes("port")), "marks"], U64),
        **dict.fromkeys(["mean_wait_ps", "p50_wait_ps", "p95_wait_ps", "p99_wait_ps"], F64),
    },
    "inner_histogram": {"port": STR, "queue": STR, "packets": U64, "at_dequeue": U64},
    "wait_histogram": {"class": STR, "what": STR, "low_ps": U64, "high_ps": U64, "packets": U64},
    "queue_trace": {"time_ps": U64, "port": STR, "packets": U64, "bytes": U64},
    "port_trace": {
        "time_ps": U64,
        **dict.fromkeys(["port", "class"], STR),
        **dict.fromkeys(["packets_in", "bytes_in", "marks", "drops"], U64),
    },
    "flow_trace": {
        "time_ps": U64,
        "flow": U32,
        **dict.fromkeys(["cwnd_bytes", "ssthresh_bytes", "srtt_ps", "alpha", "pacing_bps"], F64),
        **dict.fromkeys(["delivered_bytes", "arrived_bytes", "flight_bytes"], U64),
    },
    "packets": {
        "time_ps": U64,
        "landed_ps": U64,
        "port": STR,
        "flow": U32,
        **dict.fromkeys(["traffic", "src", "dst"], STR),
        **dict.fromkeys(["reverse", "pure_ack"], U32),
        "seq": U64,
        **dict.fromkeys(["payload", "size", "tcp_flags"], U32),
        **dict.fromkeys(["opcode", "nak", "ack_request", "psn", "pull"], U64),
        **dict.fromkeys(["trimmed", "ecn"], U32),
        "stamp_ps": U64,
        "lost": U32,
        **{f"sack{i}_{end}": U64 for i in range(4) for end in ("first", "beyond")},
    },
    "losses": {
        "time_ps": U64,
        "port": STR,
        **dict.fromkeys(["flow", "reverse", "pure_ack"], U32),
        "seq": U64,
        **dict.fromkeys(["size", "trimmed", "ecn"], U32),
        "stamp_ps": U64,
        "cause": STR,
    },
    "shares": {
        "port": STR,
        **dict.fromkeys(["flow", "reverse"], U32),
        **dict.fromkeys(["packets", "bytes", "wait_ps", "wait_max_ps"], U64),
    },
}

_ZERO = {U32: 0, U64: 0, F64: 0.0, STR: ""}


def table(name: str, *rows: dict) -> pl.DataFrame:
    """The table `name` with these rows; columns a row leaves out are zero or empty."""
    schema = SCHEMAS[name]
    unknown = {key for row in rows for key in row} - set(schema)
    assert not unknown, f"{name} has no column {unknown}"
    rows = tuple(_with_total(row) if name == "queues" else row for row in rows)
    full = [{key: row.get(key, _ZERO[kind]) for key, kind in schema.items()} for row in rows]
    return pl.DataFrame(full, schema=schema)


def _with_total(row: dict) -> dict:
    return {"drops": sum(row.get(cause.column, 0) for cause in causes())} | row


def tables(**rows: list[dict]) -> dict[str, pl.DataFrame]:
    """All tables of a run; those not given are present and empty."""
    return {name: table(name, *rows.get(name, [])) for name in SCHEMAS}


def small_run(wait_us: float = 70.0) -> dict[str, pl.DataFrame]:
    """Two long flows and two message senders through one port, with a few records of each kind."""

    def flow(number, name, goodput_bps, **more):
        return {"id": number, "class": name, "cc": "dctcp", "src": f"s{number}", "dst": "r0"} | {
            "bytes": None, "end_ps": None, "fct_ps": None, "goodput_bps": goodput_bps,
            "delivered_bytes": int(goodput_bps / 8), "arrived_bytes": int(goodput_bps / 8),
            "wait_mean_ps": wait_us * US, "delay_mean_ps": (wait_us + 52) * US,
            "srtt_mean_ps": (wait_us + 104) * US, "alpha": 0.2, "ssthresh_bytes": None,
        } | more  # fmt: skip

    def message(number, name, size, fct_us):
        end = None if fct_us is None else fct_us * US
        return {"flow": number, "class": name, "bytes": size, "start_ps": 0, "end_ps": end, "fct_ps": end,
                "ideal_ps": 50 * US, "slowdown": None if fct_us is None else fct_us / 50}  # fmt: skip

    port = {
        "rate_bps": 10**10,
        "over_ps": 10**12,
        "is_switch": 1,
        "utilisation": 0.97,
        "marks": 40,
        "drops_full": 3,
    }
    return tables(
        flows=[
            flow(0, "long", 3e9),
            flow(1, "long", 1e9),
            flow(2, "short", 2e8, bytes=512_000, wait_mean_ps=(wait_us + 2) * US, marks=5),
            flow(3, "short", 2e8, bytes=512_000, wait_mean_ps=None, retransmissions=2, timeouts=1),
        ],
        messages=[
            message(2, "short", 512_000, 400),
            message(2, "short", 10_000, 100),
            message(3, "short", 512_000, 600),
            message(3, "short", 512_000, None),
        ],
        queues=[
            {"port": "s0->switch", "utilisation": 0.99, "packets_in": 9, "drops_wire": 1},
            port | {"port": "switch->r0", "mean_packets": 50.0, "p99_packets": 80, "mean_wait_ps": 6.0e7,
                    "p99_wait_ps": 9.6e7, "packets_in": 100, "packets_out": 90, "packets_held": 7},
            port | {"port": "switch->r1", "utilisation": 0.5, "mean_wait_ps": None, "marks": 2,
                    "drops_aqm": 1, "drops_full": 0},
        ],
        queue_histogram=[
            {"port": "switch->r0", "packets": n, "time_ps": t, "at_dequeue": t // 10}
            for n, t in [(0, 10), (40, 40), (60, 40), (80, 10)]
        ],
        wait_histogram=[
            {"class": "short", "what": "wait", "low_ps": low * US, "high_ps": (low + 10) * US, "packets": n}
            for low, n in [(0, 10), (10, 80), (20, 10)]
        ],
        queue_trace=[
            {"time_ps": k * MS, "port": "switch->r0", "packets": 40 + 10 * (k % 3), "bytes": 60_000}
            for k in range(9)
        ],
        port_trace=[
            {"time_ps": k * MS, "port": "switch->r0", "class": c, "packets_in": 10, "bytes_in": 15_000 * w}
            for k in range(1, 10) for c, w in [("long", 3), ("short", 1)]
        ],
        flow_trace=[
            {"time_ps": k * MS, "flow": f, "cwnd_bytes": 60_000.0 + 1500 * k, "srtt_ps": 150.0 * US,
             "ssthresh_bytes": None, "alpha": 0.1 + 0.01 * k, "pacing_bps": None,
             "delivered_bytes": 375_000 * k, "arrived_bytes": 375_000 * k, "flight_bytes": 50_000}
            for k in range(9) for f in (0, 2)
        ],
    )  # fmt: skip


def traced_run(cubic_bps, dctcp_bps, end_s=100, warmup_s=10):
    """Two flows with rates that are functions of time, traced each second; flow 1 starts at 3 s."""
    rows = []
    for flow, rate, start in ((0, cubic_bps, 0), (1, dctcp_bps, 3)):
        times = np.arange(start + 1, end_s + 1)
        total = np.cumsum([rate(t) / 8 for t in times]).astype(int)
        rows += [
            {"time_ps": int(t) * 10**12, "flow": flow, "arrived_bytes": int(b)}
            for t, b in zip(times, total, strict=True)
        ]
    return {
        "flow_trace": pl.DataFrame(rows),
        "flows": pl.DataFrame({"id": [0, 1], "class": ["cubic", "dctcp"]}),
        "queues": pl.DataFrame({"over_ps": [(end_s - warmup_s) * 10**12]}),
    }
