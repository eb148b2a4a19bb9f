"""The parts of an experiment as classes, for completion and documentation.

Made by `make generate` from the parameters declared in crates/; do not edit.
"""

# ruff: noqa
from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from shallows.experiment.base import CustomPart, Part, WholeExperiment

__all__ = [
    "AimdCc",
    "Bbr1Cc",
    "Bbr3Cc",
    "BulkLoad",
    "CbrCc",
    "CodelQueue",
    "CollectiveLoad",
    "CopaCc",
    "CoupledQueue",
    "CreditQueue",
    "CubicCc",
    "D2tcpCc",
    "D3Cc",
    "D3PortControl",
    "DatagramsLoad",
    "DcqcnCc",
    "DctcpCc",
    "DoubleThresholdQueue",
    "DragonflyTopology",
    "DropTailQueue",
    "DtCwaCc",
    "Dualpi2Queue",
    "DualqCurvyRedQueue",
    "DumbbellTopology",
    "EmpiricalSizes",
    "Event",
    "Experiment",
    "ExponentialDeadline",
    "Expresspass",
    "FatTreeTopology",
    "FixedDeadline",
    "FixedSizes",
    "FqCodelQueue",
    "FqQueue",
    "GraphLoad",
    "GraphTopology",
    "Homa",
    "HpccCc",
    "HpccPortControl",
    "IncastLoad",
    "KernelCc",
    "LeafSpineTopology",
    "LineRateCc",
    "MessagesLoad",
    "MultiRackTopology",
    "Ndp",
    "NewrenoCc",
    "NonePortControl",
    "NsccCc",
    "ParetoSizes",
    "ParkingLotTopology",
    "PfabricCc",
    "PfabricQueue",
    "Pfc",
    "Pi2Queue",
    "PieQueue",
    "PoissonLoad",
    "PolicerQueue",
    "Port",
    "PragueCc",
    "Priority",
    "PriorityQueue",
    "Probe",
    "Python",
    "RacsCc",
    "RacsPortControl",
    "RailTopology",
    "RampQueue",
    "RcpCc",
    "RcpPortControl",
    "RedQueue",
    "Roce",
    "Routing",
    "SdcCc",
    "SdcPortControl",
    "StarTopology",
    "SwiftCc",
    "Switch",
    "TableLoad",
    "TcRedQueue",
    "ThresholdQueue",
    "TimelyCc",
    "TorusTopology",
    "Transport",
    "TreeTopology",
    "TrimmingQueue",
    "Udp",
    "Uec",
    "UniformDeadline",
    "UniformSizes",
    "XdctcpCc"
]


class NewrenoCc(Part):
    """NewReno. One segment more a round trip, half the window on congestion (RFC 5681)."""

    kind: Literal["newreno"] = "newreno"

    ecn_beta: float = 0.5
    """Share of the window that an ECN-Echo leaves. Range (0, 1). Default: RFC 3168 s.6.1.2: as a loss; RFC 8511 s.3.1 suggests 0.8."""

    slow_start: Literal["auto", "standard", "hystart", "hystart++"] = 'standard'
    """How the first slow start ends. Default: RFC 5681 s.3.1; hystart++: RFC 9406."""

    min_rtt_thresh: str = '4ms'
    """HyStart++: least growth of a round trip that ends slow start. Range (0s, ]. Default: RFC 9406 s.4.3; less than any growth in a shallow buffer tells."""

    max_rtt_thresh: str = '16ms'
    """HyStart++: most growth that it waits for; between the two an eighth of the round trip. Range (0s, ]. Default: RFC 9406 s.4.3."""


class CbrCc(Part):
    """Constant bit rate. Paced, whatever is marked or lost. The transport repairs losses all the same: lost data are sent again within this rate. Traffic without repair is a load of the kind `datagrams`."""

    kind: Literal["cbr"] = "cbr"

    rate: str = Field(...)
    """Rate on the wire, headers included. Default: the user's load."""


class CubicCc(Part):
    """CUBIC. The window grows as a cubic of the time since the last congestion (RFC 9438)."""

    kind: Literal["cubic"] = "cubic"

    standard: Literal["rfc9438", "rfc8312"] = 'rfc9438'
    """Which text is followed where the two differ. Default: RFC 9438 s.1 obsoletes RFC 8312."""

    beta: float = 0.7
    """Share of the window that a loss leaves. Range (0, 1). Default: RFC 9438 s.4.6, RFC 8312 s.4.5."""

    ecn_beta: float = 0.7
    """Share of the window that an ECN-Echo leaves. Range (0, 1). Default: RFC 9438 s.4.6: as a loss; RFC 8511 s.3.1 suggests 0.85."""

    c: float = 0.4
    """Steepness C of the cubic, in segments a second cubed. Range (0, ]. Default: RFC 9438 s.5.1."""

    fast_convergence: bool = True
    """Whether a window reduced before it is as large as the last time makes room for others. Default: RFC 9438 s.4.7."""

    friendly: bool = True
    """Whether the window is at least Reno's (Reno-friendly region). Default: RFC 9438 s.4.3."""

    slow_start: Literal["auto", "standard", "hystart", "hystart++"] = 'auto'
    """How the first slow start ends. Default: RFC 5681 s.3.1, and as Linux where counted so; RFC 9438 s.4.10 suggests hystart++."""

    min_rtt_thresh: str = '4ms'
    """HyStart++: least growth of a round trip that ends slow start. Range (0s, ]. Default: RFC 9406 s.4.3; less than any growth in a shallow buffer tells."""

    max_rtt_thresh: str = '16ms'
    """HyStart++: most growth that it waits for; between the two an eighth of the round trip. Range (0s, ]. Default: RFC 9406 s.4.3."""


class DctcpCc(Part):
    """DCTCP. The window shrinks in proportion to the share of marked bytes (RFC 8257)."""

    kind: Literal["dctcp"] = "dctcp"

    g: float = 0.0625
    """Weight of a new window's share of marks in alpha. Range (0, 1]. Default: RFC 8257 s.4.2: 1/16."""

    initial_alpha: float = 1.0
    """First alpha. Range [0, 1]. Default: RFC 8257 s.4.2; ns-2 inputs use 0."""

    reduction: float = 0.5
    """Share of alpha by which a marked window shrinks. Range (0, 1]. Default: RFC 8257 s.3.3 step 9: cwnd x (1 - alpha / 2)."""

    whole_segments: bool = False
    """Whether a marked window shrinks by whole segments only, and by less than one not at all; so always where `arithmetic` is Linux's. Default: the RFC's window is in bytes; Linux `dctcp_ssthresh`: cwnd - (cwnd x alpha >> 11) segments."""

    on_loss: Literal["halve", "alpha"] = 'halve'
    """The effect of a loss on the window. Default: RFC 8257 s.3.5; Linux 3.18 to 5.1: alpha."""


class XdctcpCc(Part):
    """xDCTCP. DCTCP whose reduction differs for short and for long flows."""

    kind: Literal["xdctcp"] = "xdctcp"

    g: float = 0.095
    """Weight of a new window's share of marks in alpha. Range (0, 1]. Default: xDCTCP report, optimum."""

    ns: float = 0.4
    """Share of alpha by which a marked window of a short flow shrinks. Range [0, 1]. Default: xDCTCP report, optimum."""

    nl: float = 1.0
    """Share of alpha by which a marked window of a long flow shrinks. Range [0, 1]. Default: xDCTCP report, optimum."""

    initial_alpha: float = 1.0
    """First alpha. Range [0, 1]. Default: RFC 8257 s.4.2; ns-2 inputs use 0."""

    on_loss: Literal["halve", "alpha"] = 'halve'
    """The effect of a loss on the window. Default: RFC 8257 s.3.5, as DCTCP."""

    class_by: Literal["declared", "size", "sent"] = 'declared'
    """How a flow's class is known. Default: xDCTCP report: senders are labelled."""

    long_classes: str | list[str] = 'long'
    """Declared classes that are long; all others are short. Default: xDCTCP report: senders 5 to 7."""

    long_from: str = '1MB'
    """Bytes, announced or sent, from which a flow is long. Range [1B, ]. Default: above the report's 500 KB messages."""


class D2tcpCc(Part):
    """D2TCP. DCTCP that gives way the less, the nearer its deadline."""

    kind: Literal["d2tcp"] = "d2tcp"

    g: float = 0.0625
    """Weight of a new window's share of marks in alpha. Range (0, 1]. Default: Vamanan 2012 s.3.1, as DCTCP: 1/16."""

    initial_alpha: float = 1.0
    """First alpha. Range [0, 1]. Default: as DCTCP: RFC 8257 s.4.2."""

    d_min: float = 0.5
    """Least urgency d. Range (0, 1]. Default: Vamanan 2012 s.3.2."""

    d_max: float = 2.0
    """Greatest urgency d. Range [1, 100]. Default: Vamanan 2012 s.3.2."""


class AimdCc(Part):
    """AIMD. A number of segments more a round trip, a share less on congestion."""

    kind: Literal["aimd"] = "aimd"

    alpha: float = 1.0
    """Segments that a round trip adds. Range (0, 1000]. Default: RFC 5681 s.3.1."""

    beta: float = 0.5
    """Share of the window that congestion leaves. Range (0, 1). Default: Chiu and Jain 1989 s.4."""


class DtCwaCc(Part):
    """DT-CWA. The window falls to a floor on a mark and gets a share of its range back a window later (Sreekumari 2018)."""

    kind: Literal["dt-cwa"] = "dt-cwa"

    beta: float = 0.2
    """Share of the range that eq. (2) gives back. Range [0, 1]. Default: Sreekumari 2018 s.2.2, figure 4."""

    operator: Literal["difference", "product", "sum", "quotient"] = 'difference'
    """The sign between CWmax and CWmin in both equations. Default: the sign is lost in print; beta can be a share of a gap."""

    order: Literal["as-printed", "from-current"] = 'as-printed'
    """Which side of eq. (1) is subtracted. Default: Sreekumari 2018 eq. (1)."""

    react: Literal["window", "ack"] = 'window'
    """The event that eq. (1) answers. Default: as DCTCP, which it modifies; the text says the ACK with a notification."""

    extremes: Literal["epoch", "life"] = 'epoch'
    """The span over which CWmax and CWmin are taken. Default: the window adjusted before the notification."""


class RcpCc(Part):
    """RCP. Sends at the rate that the switches offer to all flows alike."""

    kind: Literal["rcp"] = "rcp"


class SdcCc(Part):
    """SDC. Flows increase and decrease by the class that their remaining size puts them in."""

    kind: Literal["sdc"] = "sdc"

    r_a: str = '50pkt'
    """Most remaining size of class A. Range [1pkt, ]. Default: thesis s.3.4.5: 50 packets."""

    r_b: str = '100pkt'
    """Most remaining size of class B; above is class C. "none": there are two classes. Range [1pkt, ]. Default: thesis s.3.4.5: 100 packets."""

    r_c: str = 'none'
    """Most remaining size of class C, where there is a class D; "none": there is none. Range [1pkt, ]. Default: thesis s.3.4.5: three classes, more give little."""

    r_d: str = 'none'
    """Most remaining size of class D, where there is a class E; "none": there is none. Range [1pkt, ]. Default: as r_c."""

    gamma_a: float = 1.0
    """Multiplicative increase of class A a round trip, until the first overload. Range (0, 10]. Default: not in the thesis: doubling, as slow start."""

    gamma_b: float = 1.0
    """Multiplicative increase of class B a round trip. Range (0, 10]. Default: not in the thesis, which wants gamma_a >= gamma_b >= gamma_c."""

    gamma_c: float = 1.0
    """Multiplicative increase of class C a round trip. Range (0, 10]. Default: not in the thesis, as gamma_b."""

    gamma_d: float = 1.0
    """Multiplicative increase of class D a round trip. Range (0, 10]. Default: as gamma_c."""

    gamma_e: float = 1.0
    """Multiplicative increase of class E a round trip. Range (0, 10]. Default: as gamma_c."""

    alpha_a: float = 0.9
    """Additive increase of class A in segments a round trip. Range (0, 100]. Default: thesis s.3.3: below 1; note 1: that of class B."""

    alpha_b: float = 0.9
    """Additive increase of class B in segments a round trip. Range (0, 100]. Default: thesis s.3.4.5 note 1: that of class A."""

    alpha_c: float = 0.5
    """Additive increase of class C in segments a round trip. Range (0, 100]. Default: thesis tables 3.2, 3.3: class C (0.5, 0.5)."""

    alpha_d: float = 0.5
    """Additive increase of class D in segments a round trip. Range (0, 100]. Default: as alpha_c."""

    alpha_e: float = 0.5
    """Additive increase of class E in segments a round trip. Range (0, 100]. Default: as alpha_c."""

    beta_a: float = 0.887
    """Share of the window that an overload leaves of class A. Range (0, 1). Default: eq. (3.18) for a gain of 10 over class C, where returns diminish (s.3.4.5)."""

    beta_b: float = 0.538
    """Share of the window that an overload leaves of class B. Range (0, 1). Default: eq. (3.18) for a gain of 2 over class C (tables 3.2, 3.3)."""

    beta_c: float = 0.5
    """Share of the window that an overload leaves of class C. Range (0, 1). Default: thesis tables 3.2, 3.3: class C (0.5, 0.5)."""

    beta_d: float = 0.5
    """Share of the window that an overload leaves of class D. Range (0, 1). Default: as beta_c."""

    beta_e: float = 0.5
    """Share of the window that an overload leaves of class E. Range (0, 1). Default: as beta_c."""

    mapping: Literal["dynamic", "fixed"] = 'dynamic'
    """Whether classes behave otherwise while no higher one is active. Default: thesis s.3.2.1: class C alone would leave a link unused."""

    quantised: bool = False
    """Whether the load factor travels in two bits: below 80 %, below 100 %, overload. Default: thesis s.3.2.2 conveys it in the two ECN bits; in full it costs 4 bytes."""

    hold: float = 1.0
    """Intervals t_p beside a round trip after a decrease during which overload is not answered again. Range [0, 100]. Default: one decrease an overload; 0 is once a round trip, the thesis' words."""


class RacsCc(Part):
    """RACS. Sends at the rate that the switches assign to its weight, which grows as it drains."""

    kind: Literal["racs"] = "racs"

    w_min: float = 1.0
    """Least weight. Range (0, 1e6]. Default: not in the thesis: the unit of weight."""

    w_max: float = 9.0
    """The weight that a flow about to end has beyond it. Range [0, 1e6]. Default: not in the thesis: a gain of 10, beyond which ch. 3 finds diminishing returns."""

    size_scale: str = '100KB'
    """1 / a: the remaining size at which that has fallen to a share of 1 / e. Range [1B, ]. Default: not in the thesis, which calls flows below 100 KB short (s.1.1)."""


class D3Cc(Part):
    """D3. Asks for the rate that its deadline needs, and sends at the rate that the switches grant."""

    kind: Literal["d3"] = "d3"


class PragueCc(Part):
    """Prague. DCTCP for the Internet: ECT(1), paced, marks counted by AccECN, growth while it shrinks, and less dependence on the round-trip time (draft-briscoe-iccrg-prague-congestion-control-04)."""

    kind: Literal["prague"] = "prague"

    g: float = 0.0625
    """Weight of a new round's share of marks in alpha. Range (0, 1]. Default: draft s.2.4.1: 1/16."""

    initial_alpha: float = 1.0
    """Alpha when the first mark comes. Range [0, 1]. Default: draft s.2.4.1."""

    reduction: float = 0.5
    """Share of alpha by which a marked window shrinks. Range (0, 1]. Default: draft s.2.4.2: cwnd x (1 - alpha / 2)."""

    loss_beta: float = 0.5
    """Share of the window that a loss leaves. Range (0, 1). Default: draft s.2.4.3: Reno's; CUBIC's is 0.7."""

    rtt_virt: Literal["own", "floor", "added"] = 'floor'
    """As if of which round-trip time a flow behaves, in its long run. Default: draft s.2.4.4: max(SRTT, 25 ms)."""

    rtt_floor: str = '25ms'
    """The floor of that. Range (0s, ]. Default: draft s.2.4.4; no data centre's, where "own" is meant."""

    reduce_at: Literal["round", "mark"] = 'round'
    """When a mark may shrink the window: "round", once an own round trip and only if a virtual one has passed, or "mark", as soon as a virtual one has passed. Growth follows the virtual round trip in both. With "round" the 25 ms become a multiple of the own round trip, and a flow between 2 and 24 ms exceeds the rate of a flow of 25 ms, which is the draft's aim. With every 50th packet marked that rate is 46 Mb/s; a flow of 10 ms has 64 Mb/s with "round" and 56 with "mark", which still waits for the next mark; one of 20 ms has 58 and 56. Default: tcp_prague.c prague_enter_cwr, called once a round; "mark": draft s.2.4.4, a reduction each RTT_virt."""

    rtt_after: int = 500
    """Rounds after slow start before it counts. Range [0, 60000]. Default: draft s.2.4.4: 500 rounds; Linux prague_rtt_transition."""


class DcqcnCc(Part):
    """DCQCN. The rate control of RoCE's network cards, by marks (Zhu 2015). A constant that is "none" follows from `parameters`."""

    kind: Literal["dcqcn"] = "dcqcn"

    parameters: Literal["paper", "vendor"] = 'paper'
    """The set of constants. Default: Zhu 2015 and 2016; vendor: HPCC's authors' simulator, rate-dependent constants at 25 Gb/s times the card's rate."""

    g: float = 0.00390625
    """Weight of a notification in alpha. Range (0, 1]. Default: Zhu 2016: 1/256; vendor too."""

    alpha_period: str = 'none'
    """Time without a notification after which alpha shrinks; "none": 55 us, vendor 1 us. Range (0s, 1s]. Default: Zhu 2016: tau' = 55 us; vendor 1 us, by the clock."""

    cut_interval: str = 'none'
    """Least time between two cuts; "none": 50 us, vendor 4 us. Over RoCEv2 the paper's set cuts at each notification. Range (0s, 1s]. Default: Zhu 2016: tau = 50 us between notifications; vendor looks each 4 us."""

    increase_period: str = 'none'
    """Time between two increases; "none": 55 us, vendor 300 us. Range (0s, 1s]. Default: Zhu 2016: T = 55 us; vendor 300 us."""

    increase_bytes: str = 'none'
    """Data between two increases; "none": 10 MB, and no such counter for the vendor. Range [1B, ]. Default: Zhu 2016: B = 10 MB; the vendor's simulator has none."""

    recovery_rounds: int | Literal["none"] = 'none'
    """Rounds of fast recovery; "none": 5, vendor 1. Range [0, 1000]. Default: Zhu 2016: F = 5; vendor 1."""

    additive: str = 'none'
    """Additive step; "none": 40 Mb/s, vendor 5 Mb/s at 25 Gb/s. Range [1bps, ]. Default: Zhu 2016: R_AI = 40 Mb/s; vendor 5 Mb/s x rate / 25 Gb/s."""

    hyper: str = 'none'
    """Step of the hyper increase; "none": 200 Mb/s, vendor 50 Mb/s at 25 Gb/s. Range [1bps, ]. Default: the papers print none; simulator of DCQCN's authors: 200 Mb/s; vendor 50 Mb/s x rate / 25 Gb/s."""

    clamp: bool | Literal["none"] = 'none'
    """Whether every cut makes the present rate the target; "none": yes, vendor only if a timer has fired since the last. Default: Zhu 2016: R_T = R_C at each cut; vendor: EcnClampTgtRate 0."""

    initial_rate: str = 'none'
    """First rate; "none": the network card's. Default: Zhu 2015: line rate."""

    min_rate: str = '100Mbps'
    """Least rate. Range [1bps, ]. Default: simulators of DCQCN's and HPCC's authors; cards 1 Mb/s."""

    window_rtt: str = 'none'
    """A window of the rate times this bounds the data in flight, or "none". Range (0s, 100s]. Default: Li 2019 (HPCC): DCQCN+win has the base round-trip time."""


class TimelyCc(Part):
    """TIMELY. A rate that follows the gradient of the round-trip time (Mittal 2015), or its patched law (Zhu 2016)."""

    kind: Literal["timely"] = "timely"

    law: Literal["original", "patched"] = 'original'
    """The law between the two thresholds. Default: Mittal 2015; Zhu 2016: patched."""

    t_low: str = '50us'
    """Round-trip time below which the rate always grows. The patched law's reference. Range (0s, 100s]. Default: Zhu 2016: 50 us."""

    t_high: str = '500us'
    """Round-trip time above which the rate always shrinks. Range (0s, 100s]. Default: Zhu 2016: 500 us."""

    delta: str = '10Mbps'
    """Step by which the rate grows. Range [1bps, ]. Default: Zhu 2016: 10 Mb/s."""

    beta: float | Literal["none"] = 'none'
    """Factor of a reduction; "none": 0.8, and 0.008 under the patched law. Range (0, 1]. Default: Zhu 2016: 0.8; s.4.3: 0.008."""

    min_rtt: str = '20us'
    """Round-trip time by which the gradient is measured. Range (0s, 100s]. Default: Zhu 2016: D_minRTT, 20 us."""

    weight: float = 0.875
    """Weight of a new difference of round-trip times. Range (0, 1]. Default: Zhu 2016: 0.875; not printed in Mittal 2015; another code of the authors has 0.46."""

    samples: Literal["segment", "window"] = 'segment'
    """The round-trip times that move the rate: one a segment, or one a round trip. A flow that ends in a few round trips hardly slows down with "window". Default: Mittal 2015 and Zhu 2016: a completion of each segment; simulator of HPCC's authors: window."""

    segment: str = '16KB'
    """Data between two samples, with samples = "segment". Range [1B, ]. Default: Zhu 2016: 16 KB; Mittal 2015: up to 64 KB."""

    hai: int = 5
    """Samples in a row without a rise of the round-trip time, from which on a step is this many deltas. Range [1, 1000]. Default: Zhu 2016: N = 5 after five."""

    max_cut: float = 0.5
    """Most that a reduction takes of the rate. Range (0, 1]. Default: the authors' published snippet: half; neither paper bounds it, though beta times the gradient may exceed 1."""

    initial_rate: str = 'none'
    """First rate; "none": the network card's. Default: simulator of HPCC's authors: the card's; Mittal 2015: C / (N + 1)."""

    min_rate: str = '100Mbps'
    """Least rate. Range [1bps, ]. Default: not printed; simulator of HPCC's authors: 100 Mb/s."""

    window_rtt: str = 'none'
    """A window of the rate times this bounds the data in flight, or "none". Range (0s, 100s]. Default: Li 2019 (HPCC): TIMELY+win has the base round-trip time."""


class HpccCc(Part):
    """HPCC. A window from the utilisation of each link on the path, which switches write into packets (Li 2019)."""

    kind: Literal["hpcc"] = "hpcc"

    eta: float = 0.95
    """Utilisation that it aims at. Range (0, 2]. Default: Li 2019: 95 %; its authors later prefer 0.99."""

    max_stage: int = 0
    """Additive steps before the next multiplicative one. Range [0, 1000]. Default: the authors' results page and run.py: 0; the paper's text: 5."""

    step: str = '80B'
    """Step W_AI by which the window grows. Range [1B, ]. Default: Li 2019: 80 B, for 100 flows at 100 Gb/s and 13 us."""

    base_rtt: str = 'none'
    """Round-trip time T of the empty network, a little above the longest; "none": that of the flow's shortest path. Range (0s, 1s]. Default: the authors' simulator works it out from the topology; Li 2019: 13 us in simulations, 9 us in the testbed."""

    reaction: Literal["reference", "per-ack", "per-rtt", "rtt-measured"] = 'reference'
    """The acknowledgements that move the window. Default: Li 2019 algorithm 1; the others are its figure 13, of which its authors' simulator runs rtt-measured (rdma-hw.cc, without fast_react)."""

    header_hops: int | Literal["none"] = 'none'
    """Hops that the header has room for; "none": as many as the path has switches. Range [1, 7]. Default: Li 2019: 8 bytes a hop; the authors' simulator: always 5."""


class SwiftCc(Part):
    """Swift. A window that keeps the round-trip time at a target (Kumar 2020)."""

    kind: Literal["swift"] = "swift"

    base_target: str = 'none'
    """Delay of the target for a path without switches and a large window; "none": 20 us, or the round trip of the flow's empty path where that is longer, which no window can undercut. Range (0s, 1s]. Default: htsim swift.cpp: 20 us, in a fabric of 12 us."""

    hop_target: str = '3.05us'
    """Delay that each switch on the path adds to the target. Range [0s, 1s]. Default: htsim swift.cpp: base / 6.55."""

    scaling_range: str = '100us'
    """Most that a small window adds to the target. Range [0s, 1s]. Default: htsim swift.cpp: five times the base."""

    scaling_min: float = 0.1
    """Window in segments below which the whole range is added. Range (0, 1000]. Default: htsim swift.cpp: 0.1."""

    scaling_max: float = 100.0
    """Window in segments above which nothing is added. Range (0, 100000]. Default: htsim swift.cpp: 100."""

    ai: float = 1.0
    """Segments that a window grows by in a round trip. Range (0, 1000]. Default: htsim swift.cpp: 1."""

    beta: float = 0.8
    """Share of the excess delay by which a window shrinks. Range (0, 1]. Default: htsim swift.cpp: 0.8."""

    max_decrease: float = 0.5
    """Most that a window shrinks by at once. Range (0, 1). Default: htsim swift.cpp: max_mdf, 0.5."""

    min_window: float = 0.001
    """Least window in segments. Range (0, 1]. Default: notes on Kumar 2020: 0.001."""

    reset_after: int = 5
    """Timeouts in a row after which the window is the least one. Range [1, 100]. Default: htsim swift.cpp: RETX_RESET, 5."""


class CopaCc(Part):
    """Copa. A window that moves towards the rate 1 / (delta d_q), where d_q is the queueing delay (Arun 2018)."""

    kind: Literal["copa"] = "copa"

    delta: float = 0.5
    """Weight of delay against throughput: in equilibrium a flow keeps about 1 / delta packets queued. Range [0.001, 100]. Default: Arun 2018 s.2.2: 0.5."""

    mode: Literal["switching", "default", "competitive"] = 'default'
    """How delta is chosen: "switching" goes over to competitive mode beside flows that fill buffers. In a fabric where all run Copa, flows that start take each other for such, and stay competitive until the buffer is full. Default: Arun 2018 s.2.2 has switching, for paths shared with TCP."""

    patience: int = 5
    """Round trips without a nearly empty queue, after which other flows must be filling it. Range [1, 1000]. Default: Arun 2018 s.2.2: 5 RTTs."""

    nearly_empty: float = 0.1
    """Share of the range of round-trip times below which a queue is nearly empty. Range (0, 1). Default: Arun 2018 s.2.2: 10 % of RTTmax - RTTmin, RTTmax over four RTTs."""

    min_rtt_window: str = '10s'
    """Span over which the least round-trip time counts as that of the empty path. Range (0s, 1000s]. Default: Arun 2018 s.2.1: 10 s."""

    reset_at_crossing: bool = True
    """Whether a velocity above 1 ends at once when the rate crosses the target. The paper's text ends it when the windows compared say so; until then the window would go on in large steps. Default: mvfst Copa.cpp: changeDirection."""


class Bbr1Cc(Part):
    """BBRv1 as Linux has it: a model of the path sets rate and window, and losses bound neither (Linux 7.2 tcp_bbr.c)."""

    kind: Literal["bbr1"] = "bbr1"

    startup_gain: float = 2.885
    """Gain of rate and window in Startup; Drain's is its inverse. Range (1, 4). Default: bbr_high_gain: 2 / ln 2."""

    cwnd_gain: float = 2.0
    """Window in bandwidth-delay products in ProbeBW. Range [1, 4). Default: bbr_cwnd_gain."""

    pacing_margin: int = 1
    """Per cent by which the rate stays below the estimated bandwidth. Range [0, 50]. Default: bbr_pacing_margin_percent."""

    bw_rounds: int = 10
    """Rounds over which the bandwidth is the greatest sample. Range [1, 1000]. Default: bbr_bw_rtts."""

    min_rtt_window: str = '10s'
    """Time over which the round-trip time is the least sample; ProbeRTT follows where nothing lower was seen for so long. Range (0s, 1000s]. Default: bbr_min_rtt_win_sec."""

    probe_rtt_time: str = '200ms'
    """Least length of ProbeRTT. Range (0s, 100s]. Default: bbr_probe_rtt_mode_ms."""

    min_pipe: int = 4
    """Window of ProbeRTT and least window otherwise, in segments. Range [1, 1000]. Default: bbr_cwnd_min_target."""

    full_growth: float = 1.25
    """Growth of the bandwidth that is growth. Range (1, 4). Default: bbr_full_bw_thresh."""

    full_rounds: int = 3
    """Rounds without growth after which the pipe is full. Range [1, 100]. Default: bbr_full_bw_cnt."""

    aggregation: bool = True
    """Whether the window has room for aggregated acknowledgements. Default: bbr_extra_acked_gain."""

    policers: bool = True
    """Whether losses of a fifth at an even rate are taken for a policer's, whose rate then holds for 48 rounds. Default: bbr_lt_bw_sampling."""


class Bbr3Cc(Part):
    """BBRv3. A model of the path sets rate and window; losses above 2 % bound it (draft-ietf-ccwg-bbr, August 2026)."""

    kind: Literal["bbr3"] = "bbr3"

    startup_gain: float = 2.77
    """Pacing gain of Startup. Range (1, 10]. Default: draft s.2.5: 4 ln 2 = 2.77."""

    drain_gain: float = 0.5
    """Pacing gain of Drain. Range (0, 1]. Default: draft s.2.5."""

    down_gain: float = 0.9
    """Pacing gain of ProbeBW_DOWN. Range (0, 1]. Default: draft s.5.6.1."""

    up_gain: float = 1.25
    """Pacing gain of ProbeBW_UP. Range [1, 10]. Default: draft s.5.6.1."""

    cwnd_gain: float = 2.0
    """Window in bandwidth-delay products. Range [1, 100]. Default: draft s.2.6."""

    up_cwnd_gain: float = 2.25
    """Window over the bandwidth-delay product in ProbeBW_UP. Range [1, 100]. Default: draft s.5.6.1."""

    pacing_margin: float = 0.01
    """Share by which the rate stays below the estimated bandwidth. Range [0, 1). Default: draft s.2.5: 1 %."""

    loss_thresh: float = 0.02
    """Share of the data in flight whose loss is too much. Range (0, 1). Default: draft s.2.8."""

    beta: float = 0.7
    """Share of the short-term model that a round trip with loss leaves. Range (0, 1). Default: draft s.2.8."""

    headroom: float = 0.15
    """Share of inflight_longterm left to others. Range [0, 1). Default: draft s.2.8."""

    min_pipe: int = 4
    """Least window in segments. Range [1, 1000]. Default: draft s.2.8."""

    max_bw_cycles: int = 2
    """Probing cycles over which the bandwidth is the greatest sample. Range [1, 100]. Default: draft s.2.11."""

    extra_acked_rounds: int = 10
    """Round trips over which aggregation of acknowledgements is remembered; one in Startup. Range [1, 1000]. Default: draft s.2.12."""

    full_rounds: int = 3
    """Rounds without growth after which the pipe is full. Range [1, 100]. Default: draft s.5.3.1.2."""

    full_growth: float = 1.25
    """Growth of the delivery rate that is growth. Range (1, 10]. Default: draft s.5.3.1.2: 25 %."""

    startup_losses: int = 6
    """Lost ranges in a round trip of Startup that end it. Range [1, 1000]. Default: draft s.5.3.1.3."""

    drain_rounds: int = 3
    """Most round trips of Drain. Range [1, 100]. Default: draft s.5.3.2."""

    probe_wait: str = '2s'
    """Least time between two probes for bandwidth. Range (0s, 1000s]. Default: draft s.5.3.3.8."""

    probe_wait_spread: str = '1s'
    """Greatest random time on top. Range [0s, 1000s]. Default: draft s.5.3.3.8."""

    probe_rounds: int = 63
    """Most round trips between two probes. Range [1, 10000]. Default: draft s.5.3.3.8."""

    min_rtt_window: str = '10s'
    """Time over which the round-trip time is the least sample. Range (0s, 1000s]. Default: draft s.2.16."""

    probe_rtt_interval: str = '5s'
    """Time without a lower sample, after which ProbeRTT begins. Range (0s, 1000s]. Default: draft s.2.16."""

    probe_rtt_time: str = '200ms'
    """Its least length. Range (0s, 100s]. Default: draft s.2.16."""

    probe_rtt_gain: float = 0.5
    """Its window in bandwidth-delay products. Range (0, 1]. Default: draft s.2.16."""

    offload_quanta: int = 3
    """Send quanta that the window leaves room for at least: 3 with TCP's offload, 1 with QUIC. Range [0, 10]. Default: draft s.5.5.8."""


class PfabricCc(Part):
    """pFabric. A window of the path from the start, which only timeouts cut (Alizadeh 2013)."""

    kind: Literal["pfabric"] = "pfabric"

    window: str = 'none'
    """First window and slow-start threshold; "none": the rate of the host's link times the round trip of the flow's empty path, in whole segments. Range [1B, ]. Default: Alizadeh 2013 s.4.3: the bandwidth-delay product."""


class NsccCc(Part):
    """NSCC, the sender's control of Ultra Ethernet: a window by delay and marks."""

    kind: Literal["nscc"] = "nscc"

    reading: Literal["specification", "uet"] = 'specification'
    """The specification's text, or what the consortium's simulator does otherwise. Default: UE 1.0.3 s.3.6.13; uet-htsim 40ccb05."""

    trimming: bool = True
    """Whether switches trim: the target is shorter then, and by the specification delay alone never causes quick adapt. Default: UE 1.0.3 p. 390."""

    base_rtt: str = 'none'
    """Round trip of a full packet over the empty path, or "none": that of the flow's longest one. Shorter samples replace it. Range (0s, 1s]. Default: UE 1.0.3 table 3-82: config_base_rtt."""

    target: str = 'none'
    """Delay beyond the base round trip that the window aims at, or "none": 0.75 of that with trimming, and all of it without. Range (0s, 1s]. Default: UE 1.0.3 p. 390: target_qdelay."""

    max_window: float = 1.5
    """First window and most, in bandwidth-delay products. Range (0, 100]. Default: UE 1.0.3 p. 390: MaxWnd."""

    alpha: float = 4.0
    """Proportional increase in a round trip without delay, in packets, on a network of 100 Gb/s and 12 us with a target of 12 us. Range [0, 1000]. Default: UE 1.0.3 p. 390: 4 a b MTU / target_qdelay."""

    fair_increase: float = 5.0
    """Fair increase in a round trip, in packets, on a network of 100 Gb/s and 12 us. Range [0, 1000]. Default: UE 1.0.3 p. 390: 5 MTU a."""

    fast_increase: float = 0.25
    """Fast increase: share of the acknowledged bytes, on a network of 100 Gb/s and 12 us. Range [0, 100]. Default: UE 1.0.3 p. 390: 0.25 a."""

    idle_delay: str = '1us'
    """Delay below which a path is idle, for fast increase. Range [0s, 1s]. Default: uet-htsim 40ccb05: 1 us; the specification: about 0."""

    eta: float = 0.15
    """Increase each adjust_period whatever the delay, in packets, on a network of 100 Gb/s and 12 us. Range [0, 1000]. Default: UE 1.0.3 p. 390: 0.15 MTU a."""

    gamma: float = 0.8
    """Share of the excess delay by which the window shrinks. Range [0, 1]. Default: UE 1.0.3 p. 390: 0.8."""

    max_decrease: float = 0.5
    """Most that the window shrinks by at once. Range (0, 1). Default: UE 1.0.3 p. 390: max_md_jump, 0.5."""

    quick_adapt: bool = True
    """Whether a round trip that delivered little sets the window to that. Default: UE 1.0.3 p. 390: disable_quick_adapt, false."""

    quick_adapt_gate: int = 3
    """Powers of two by which the greatest window is divided for what little is. Range [0, 30]. Default: UE 1.0.3 p. 390: qa_gate, 3."""

    quick_adapt_delay: str = 'none'
    """Delay that causes quick adapt by itself, or "none": four times the target, with trimming as `reading` says. Range (0s, 1s]. Default: UE 1.0.3 p. 390: qa_threshold, of a drop threshold of 5 BDP."""

    adjust_packets: int = 8
    """Increases are carried out once so many packets have come. Range [1, 1000]. Default: UE 1.0.3 p. 390: adjust_bytes, 8 MTU."""

    adjust_period: str = 'none'
    """Increases are carried out after this time at the latest, or "none": the base round trip. Range (0s, 1s]. Default: UE 1.0.3 p. 390: config_base_rtt."""


class LineRateCc(Part):
    """No congestion control. Sends at the rate of its network card, whatever happens (Mittal 2018)."""

    kind: Literal["line-rate"] = "line-rate"

    window_rtt: str = 'none'
    """A window of the rate times this bounds the data in flight, or "none". Range (0s, 100s]. Default: none; Li 2019 (HPCC): "+win" has the base round-trip time."""


class KernelCc(Part):
    """Any of the Linux kernel's congestion controls by its name, with `--backend linux` alone. The simulator has none of them and refuses this before anything runs."""

    kind: Literal["kernel"] = "kernel"

    name: str = Field(...)
    """Its name in the kernel. Default: the kernel that runs, which is asked for its controls."""


class FixedSizes(Part):
    """Every flow of one size."""

    kind: Literal["fixed"] = "fixed"

    bytes: str = Field(...)
    """Bytes of each flow. Range [1B, ]. Default: the user's application."""


class UniformSizes(Part):
    """Sizes between two bounds, all equally likely."""

    kind: Literal["uniform"] = "uniform"

    min: str = Field(...)
    """Smallest flow. Range [1B, ]. Default: the user's application."""

    max: str = Field(...)
    """Largest flow. Range [1B, ]. Default: the user's application."""


class ParetoSizes(Part):
    """Pareto sizes between two bounds: many small flows and few very large ones."""

    kind: Literal["pareto"] = "pareto"

    shape: float = 1.2
    """Shape a: the share of flows larger than x falls as x to the power of -a. Range (0, 10]. Default: between the 1.05 and 1.5 fitted to file sizes (Crovella and Bestavros 1997)."""

    min: str = Field(...)
    """Smallest flow. Range [1B, ]. Default: the user's application."""

    max: str = Field(...)
    """Largest flow, where the distribution is cut. Range [1B, ]. Default: the user's application."""


class EmpiricalSizes(Part):
    """Sizes from a measured distribution function, straight between its points."""

    kind: Literal["empirical"] = "empirical"

    name: str = ''
    """Name of the distribution, as in `shallows/document/flow_sizes`. Default: recorded with the result."""

    points: list[list[float]] = Field(...)
    """Points [bytes, percent of flows not larger], rising; filled in from the named file. Default: `shallows/document/flow_sizes` names its sources."""


class FixedDeadline(Part):
    """Every message has the same time."""

    kind: Literal["fixed"] = "fixed"

    span: str = Field(...)
    """Time from write to delivery. Range (0s, 100000s]. Default: the user's application."""


class UniformDeadline(Part):
    """Times between two bounds, all equally likely."""

    kind: Literal["uniform"] = "uniform"

    min: str = Field(...)
    """Shortest time. Range (0s, 100000s]. Default: the user's application."""

    max: str = Field(...)
    """Longest time. Range (0s, 100000s]. Default: the user's application."""


class ExponentialDeadline(Part):
    """Exponentially distributed times, none below a least one: many tight, few loose."""

    kind: Literal["exponential"] = "exponential"

    mean: str = Field(...)
    """Mean before the least time is applied. Range (0s, 100000s]. Default: the user's application."""

    min: str = '1us'
    """Least time, which stands in for all shorter ones. Range (0s, 100000s]. Default: next to none."""


class StarTopology(Part):
    """One switch with senders `s0`, `s1` .. and receivers `r0`, `r1` .. on links of their own. The switch is called `switch`; a receiver's bottleneck is the port `switch->r0`."""

    kind: Literal["star"] = "star"

    senders: int = 8
    """Number of hosts `s0`, `s1` ... Range [1, 100000]. Default: enough flows to share a port, few enough to watch."""

    receivers: int = 1
    """Number of hosts `r0`, `r1` ... Range [1, 100000]. Default: one bottleneck."""

    rate: str = '10Gbps'
    """Rate of the receivers' links, and of the senders' unless `sender_rate` says otherwise. Default: the faster testbed of Alizadeh 2010."""

    sender_rate: str = 'none'
    """Rate of the senders' links; `"none"` is `rate`. Default: hosts of one kind."""

    delay: str = '25us'
    """One-way delay of the receivers' links, and of the senders' unless `sender_delay` says otherwise. A round trip crosses four links. Range [0s, 100000s]. Default: a base round trip of 100us, as inside a data centre."""

    sender_delay: str = 'none'
    """One-way delay of the senders' links; `"none"` is `delay`. Range [0s, 100000s]. Default: hosts of one kind."""


class DumbbellTopology(Part):
    """Two switches joined by one link, with hosts `l0`, `l1` .. and `r0`, `r1` .. on either side. The switches are called `left` and `right`; the bottleneck is the port `left->right`."""

    kind: Literal["dumbbell"] = "dumbbell"

    left: int = 8
    """Number of hosts `l0`, `l1` .. on the left. Range [1, 100000]. Default: as many as a star has senders."""

    right: int = 8
    """Number of hosts `r0`, `r1` .. on the right. Range [1, 100000]. Default: a receiver a sender."""

    rate: str = '10Gbps'
    """Rate of the link between the switches. Default: the faster testbed of Alizadeh 2010."""

    delay: str = '10us'
    """One-way delay of the link between the switches. A round trip crosses it twice, and four hosts' links. Range [0s, 100000s]. Default: with `access_delay`, a base round trip of 100us, as inside a data centre."""

    access_rate: str = 'none'
    """Rate of the hosts' links; `"none"` is `rate`. Default: a host alone can fill the bottleneck."""

    access_delay: str = '20us'
    """One-way delay of the hosts' links. Range [0s, 100000s]. Default: with `delay`, a base round trip of 100us, as inside a data centre."""


class ParkingLotTopology(Part):
    """A chain of switches `sw0`, `sw1` .. with a long path `s` to `r` and a crossing path each hop. The crossing path of hop i goes from host `ai` to `bi`, counted from 1; its bottleneck is the port into switch `swi`, such as `sw0->sw1`."""

    kind: Literal["parking-lot"] = "parking-lot"

    hops: int = 3
    """Number of links between switches. Range [1, 10000]. Default: the least with a first, an inner and a last hop."""

    rate: str = '10Gbps'
    """Rate of the links between switches. Default: the faster testbed of Alizadeh 2010."""

    delay: str = '10us'
    """One-way delay of the links between switches. Range [0s, 100000s]. Default: with `access_delay`, a round trip of 100us for a crossing path."""

    access_rate: str = 'none'
    """Rate of the hosts' links; `"none"` is `rate`. Default: a host alone can fill its bottleneck."""

    access_delay: str = '20us'
    """One-way delay of the hosts' links. Range [0s, 100000s]. Default: with `delay`, a round trip of 100us for a crossing path."""


class TreeTopology(Part):
    """A tree of switches with hosts `h0`, `h1` .. at the leaves and `r0`, `r1` .. at the root. The root is switch `sw0`; the others count on from it, level by level."""

    kind: Literal["tree"] = "tree"

    levels: int = 2
    """Levels of switches; 1 is the root alone, which then is the leaf. Range [1, 16]. Default: a root and top-of-rack switches."""

    fanout: int = 3
    """Switches below each switch that is not a leaf. Range [1, 1000]. Default: three racks."""

    hosts_per_leaf: int = 3
    """Hosts `h0`, `h1` .. at each leaf. Range [1, 100000]. Default: nine senders in three racks."""

    root_hosts: int = 1
    """Hosts `r0`, `r1` .. at the root. Range [0, 100000]. Default: one receiver for all."""

    rate: str = '10Gbps'
    """Rate of the hosts' links, those at the root too. Default: the faster testbed of Alizadeh 2010."""

    uplink_rate: str = 'none'
    """Rate of the links between switches; `"none"` is `rate`. Default: ports of one kind."""

    delay: str = '15us'
    """One-way delay of every link. Range [0s, 100000s]. Default: a base round trip of 90us from leaf to root host, as inside a data centre."""


class MultiRackTopology(Part):
    """Racks of hosts (`a0`, `a1` .., `b0` ..) on switches `S1`, `S2` .., joined by one more switch."""

    kind: Literal["multi-rack"] = "multi-rack"

    racks: int = 3
    """Racks, lettered from a on. Range [2, 26]. Default: Munir 2012 figure 3.6: A, B, C."""

    hosts_per_rack: int = 3
    """Hosts of each rack. Range [1, 30000]. Default: Munir 2012 s.3.5: three are drawn."""

    rate: str = '1Gbps'
    """Rate of the hosts' links. Default: Munir 2012 s.3.5."""

    uplink_rate: str = 'none'
    """Rate of the links between switches; `"none"` is `rate`. Default: Munir 2012 s.3.5: 1 Gb/s links."""

    delay: str = '75us'
    """One-way delay of the hosts' links. Range [0s, 100000s]. Default: Munir 2012 s.3.4.5: a round trip of 300us, in a rack four crossings."""

    uplink_delay: str = 'none'
    """One-way delay of the links between switches; `"none"` is `delay`. Range [0s, 100000s]. Default: links of one kind."""


class LeafSpineTopology(Part):
    """Leaves with hosts `h0`, `h1` .., each leaf joined to each spine. Switches are called `leaf0` .. and `spine0` .., and with several planes `p0.leaf0`, `p1.leaf0` ..; several equal paths are shared as the run's `ecmp` says."""

    kind: Literal["leaf-spine"] = "leaf-spine"

    leaves: int = 4
    """Leaf switches. Range [2, 100000]. Default: four racks."""

    spines: int = 4
    """Spine switches. Range [1, 100000]. Default: as many as a leaf has hosts: no oversubscription."""

    hosts_per_leaf: int = 4
    """Hosts at each leaf. Range [1, 100000]. Default: sixteen hosts."""

    rate: str = '10Gbps'
    """Rate of the hosts' links. Default: the faster testbed of Alizadeh 2010."""

    uplink_rate: str = 'none'
    """Rate of each link between a leaf and a spine; `"none"` is `rate`, or the rate that `oversubscription` gives. Default: ports of one kind."""

    oversubscription: float | Literal["none"] = 'none'
    """Rate of a leaf's hosts over the rate of its uplinks, which sets `uplink_rate`; `"none"` leaves it. Range (0, 1000]. Default: either this or `uplink_rate`."""

    delay: str = '15us'
    """One-way delay of the hosts' links. Range [0s, 100000s]. Default: with `uplink_delay`, a base round trip of 100us across the spine."""

    uplink_delay: str = '10us'
    """One-way delay of the links between switches. Range [0s, 100000s]. Default: with `delay`, a base round trip of 100us across the spine."""

    planes: int = 1
    """Networks of leaves and spines side by side. Each host has a port of `rate` in each. Range [1, 64]. Default: one; notes on MRC 1.0: eight for a card of 800 Gb/s."""


class FatTreeTopology(Part):
    """A fat tree of k-port switches with hosts `h0`, `h1` ... Switches are called `edge0.0` (pod, place), `agg0.0` and `core0`, and with several planes `p0.edge0.0`, `p1.edge0.0` ..; several equal paths are shared as the run's `ecmp` says."""

    kind: Literal["fat-tree"] = "fat-tree"

    k: int = 4
    """Ports of a switch: k pods with (k/2)^2 hosts each. Must be even. Range [2, 100]. Default: Al-Fares 2008 figure 3: 16 hosts."""

    hosts_per_edge: int | Literal["none"] = 'none'
    """Hosts at each edge switch; `"none"` is k/2, and more oversubscribe the fabric. Range [1, 100000]. Default: Al-Fares 2008 s.2.2."""

    rate: str = '10Gbps'
    """Rate of the hosts' links. Default: the faster testbed of Alizadeh 2010."""

    aggregation_rate: str = 'none'
    """Rate of the links from edge to aggregation; `"none"` is `rate`. Default: Al-Fares 2008: identical switches."""

    core_rate: str = 'none'
    """Rate of the links from aggregation to core; `"none"` is `rate`. Default: Al-Fares 2008: identical switches."""

    delay: str = '5us'
    """One-way delay of the hosts' links. Range [0s, 100000s]. Default: with `uplink_delay`, a base round trip of 100us between pods."""

    uplink_delay: str = '10us'
    """One-way delay of the links between switches. Range [0s, 100000s]. Default: with `delay`, a base round trip of 100us between pods."""

    planes: int = 1
    """Trees side by side. Each host has a port of `rate` in each. Range [1, 64]. Default: one; notes on MRC 1.0: eight for a card of 800 Gb/s."""


class TorusTopology(Part):
    """Switches on a grid of any number of dimensions, with rings in each, and hosts `h0`, `h1` .. at each switch. Switches are called by their place, such as `sw0.2`; hosts count on from switch to switch, the last dimension first."""

    kind: Literal["torus"] = "torus"

    size: list[int] = [4, 4]
    """Switches in each dimension: `[4, 4, 4]` is a cube. Range [2, 100000]. Default: a square of sixteen switches."""

    hosts_per_node: int = 1
    """Hosts at each switch. Range [1, 100000]. Default: Dally and Towles 2004 ch. 5: a terminal a node."""

    wrap: bool = True
    """Whether the two ends of each row are joined: a torus. Otherwise it is a mesh. Default: Dally and Towles 2004 ch. 5: a torus."""

    rate: str = '10Gbps'
    """Rate of the hosts' links. Default: the faster testbed of Alizadeh 2010."""

    fabric_rate: str = 'none'
    """Rate of the links between switches; `"none"` is `rate`. Default: ports of one kind."""

    delay: str = '5us'
    """One-way delay of the hosts' links. Range [0s, 100000s]. Default: with `fabric_delay`, a base round trip of 100us between the farthest of 4 x 4."""

    fabric_delay: str = '10us'
    """One-way delay of the links between switches. Range [0s, 100000s]. Default: with `delay`, a base round trip of 100us between the farthest of 4 x 4."""


class DragonflyTopology(Part):
    """Groups of switches with hosts `h0`, `h1` ..: all switches of a group are joined, and every two groups. Switches are called `sw0.1` (group, place); hosts count on from switch to switch."""

    kind: Literal["dragonfly"] = "dragonfly"

    routers: int = 4
    """Switches of a group (a). Range [1, 1000]. Default: Kim 2008 figure 5."""

    hosts_per_router: int = 2
    """Hosts at each switch (p). Range [1, 100000]. Default: Kim 2008 figure 5."""

    global_links: int = 2
    """Cables of each switch to other groups (h). Range [1, 1000]. Default: Kim 2008 figure 5."""

    groups: int | Literal["none"] = 'none'
    """Groups (g); `"none"` is a h + 1, as many as can be joined. Range [2, 1000000]. Default: Kim 2008 s.3.1: g = a h + 1."""

    arrangement: Literal["palm-tree", "consecutive"] = 'palm-tree'
    """Which global cable leads to which group. Default: Camarero 2014; Kim 2008 leaves it open."""

    global_cost: int = 3
    """The cost that a link between groups adds to a path, and all others add 1. With 1, paths have the fewest links. Range [1, 65535]. Default: Kim 2008 s.4.1: minimal routes cross one global channel."""

    rate: str = '10Gbps'
    """Rate of the hosts' links. Default: the faster testbed of Alizadeh 2010."""

    local_rate: str = 'none'
    """Rate of the links inside a group; `"none"` is `rate`. Default: ports of one kind."""

    global_rate: str = 'none'
    """Rate of the links between groups; `"none"` is `rate`. Default: ports of one kind."""

    delay: str = '5us'
    """One-way delay of the hosts' links. Range [0s, 100000s]. Default: with the others, a base round trip of 100us between groups."""

    local_delay: str = '10us'
    """One-way delay of the links inside a group. Range [0s, 100000s]. Default: with the others, a base round trip of 100us between groups."""

    global_delay: str = '20us'
    """One-way delay of the links between groups. Range [0s, 100000s]. Default: global cables are longer; with the others, 100us."""


class RailTopology(Part):
    """Servers of several network cards: card r of each on leaf r, and spines above. A card is a host. Hosts are called `server0.rail3`, so that `server0.*` are a server and `*.rail3` a rail; switches `leaf3` and `spine0`."""

    kind: Literal["rail"] = "rail"

    servers: int = 4
    """Servers. Range [2, 100000]. Default: half of a small pod."""

    rails: int = 8
    """Network cards of a server, each on a leaf of its own: rails. Range [1, 1000]. Default: NVIDIA DGX H100: eight cards."""

    spines: int = 4
    """Spine switches. With none the rails are not joined: cards of different rails do not reach each other, but in their server with `scale_up_rate`. Range [0, 100000]. Default: as many as a leaf has hosts: no oversubscription."""

    rate: str = '100Gbps'
    """Rate of the cards' links. Default: cards of training clusters have 100 Gb/s or more."""

    uplink_rate: str = 'none'
    """Rate of each link between a leaf and a spine; `"none"` is `rate`. Default: ports of one kind."""

    delay: str = '1us'
    """One-way delay of the cards' links. Range [0s, 100000s]. Default: Li 2019 (HPCC) s.5.1: each link has 1us."""

    uplink_delay: str = 'none'
    """One-way delay of the links between leaves and spines; `"none"` is `delay`. Range [0s, 100000s]. Default: Li 2019 (HPCC) s.5.1: each link has 1us."""

    scale_up_rate: str = 'none'
    """Rate of a card's link to the switch of its server's scale-up domain (NVLink), each way; `"none"`: a server has no such network, and its cards reach each other over the fabric. Default: cards alone; NVIDIA DGX H100 has 450 GB/s each way, "3600Gbps"."""

    scale_up_delay: str = '250ns'
    """One-way delay of these links. Range [0s, 100000s]. Default: shorter than a cable between racks; choose by your server."""


class GraphTopology(Part):
    """Any network: hosts and switches by name, joined link by link. Packets take a path with the fewest links, or where links have a `cost`, one with the least sum of costs. Several equal paths are shared as the run's `ecmp` says."""

    kind: Literal["graph"] = "graph"

    name: str = ''
    """Name of the file that the network came from. Default: recorded with the result."""

    hosts: str | list[str] = Field(...)
    """Names of the hosts; `"h0..h7"` stands for eight. Filled in from the named file, as all that follows. Default: the user's network."""

    switches: str | list[str] = []
    """Names of the switches; `"sw0..sw3"` stands for four. Default: two hosts can do without."""

    links: list[dict[str, Any]] = Field(...)
    """The links, each `{ from, to, rate = "10Gbps", delay = "25us", duplex = true, cables = 1, cost = 1 }`. Default: the user's network."""


class DropTailQueue(Part):
    """Drop-tail. A packet that finds the queue full is dropped."""

    kind: Literal["drop-tail"] = "drop-tail"

    limit: str = 'none'
    """Most that the queue may hold, in bytes or packets, or "none". Range [1pkt, ]. Default: the user's switch; hosts queue without limit."""

    count_in_service: bool = True
    """Whether the packet being transmitted counts as held. Default: a switch's buffer holds a packet until its last bit has left."""

    measure: Literal["before", "after"] = 'after'
    """Whether the arriving packet counts when held against the limit. Default: a packet that does not fit is dropped; ns-2 measures before."""


class ThresholdQueue(Part):
    """Threshold ECN marking. A packet that finds more than the threshold in the queue is marked; one that finds it full is dropped."""

    kind: Literal["threshold"] = "threshold"

    limit: str = '250pkt'
    """Most that the queue may hold, in bytes or packets, or "none". Range [1pkt, ]. Default: xDCTCP report: B = 250."""

    mark_at: str = '65pkt'
    """Marking threshold K, in bytes or packets: a queue above it is marked. Default: Alizadeh 2010 s.4: K = 65 packets at 10 Gb/s."""

    count_in_service: bool = True
    """Whether the packet being transmitted counts as queued. Default: a switch's buffer holds a packet until its last bit has left."""

    measure: Literal["before", "after"] = 'before'
    """Whether the arriving packet counts. Default: Alizadeh 2010 s.3.1: the occupancy found upon arrival."""

    first_exempt: bool = False
    """Whether the first packet that finds the queue above the threshold, after it was below, goes unmarked. Default: the ns-2 RED queue of the xDCTCP and DCTCP inputs: true."""

    not_ect: Literal["pass", "drop"] = 'pass'
    """The fate of packets above the threshold that are not ECN-capable. Default: Alizadeh 2010 marks only; Linux RED drops."""


class RedQueue(Part):
    """Random early detection. Packets are marked or dropped with a probability that rises with the average queue."""

    kind: Literal["red"] = "red"

    limit: str = '250pkt'
    """Most that the queue may hold, in bytes or packets, or "none". Range [1pkt, ]. Default: as the threshold queue."""

    min: str = '5pkt'
    """Average queue min_th below which nothing is marked, in bytes or packets. 0: half the rate's bytes in target_delay, at least 5 mean packets. Default: Floyd 1997, Discussions of setting parameters, not verified; ns-2 since 2001: thresh_ 0, red.cc initialize_params."""

    max: str = '15pkt'
    """Average queue max_th at which the probability is max_p, in the unit of min. 0: three times min_th. Default: Floyd 1997: three times min_th, as tc-red has it too; ns-2 since 2001: maxthresh_ 0."""

    target_delay: str = '5ms'
    """Wait from which min_th follows, if min is 0. Range (0s, 100s]. Default: ns-2: targetdelay_."""

    w_q: float = 0.002
    """Weight w_q of a new queue length in the average. Range (0, 1]. Default: Floyd and Jacobson 1993 s.6."""

    max_p: float = 0.1
    """Probability max_p just below max. Range (0, 1]. Default: Floyd 1997, not verified; 0.02 in the paper of 1993."""

    gentle: bool = True
    """Whether the probability rises from max_p to 1 between max and twice max, instead of at once. Default: Floyd 2000."""

    spacing: Literal["uniform", "wait", "independent"] = 'uniform'
    """How the packets between two marks are counted. Default: Floyd and Jacobson 1993 fig. 2 and s.7, method 2."""

    ecn: bool = True
    """Whether ECN-capable packets are marked instead of dropped. Default: Floyd and Jacobson 1993 s.4: marks or drops; RFC 3168."""

    hard_drop: bool = False
    """Whether ECN-capable packets too are dropped when the probability is 1. Default: Floyd and Jacobson 1993 fig. 2 marks; RFC 3168 s.7 recommends true."""

    by_size: bool = False
    """Whether the probability is in proportion to the packet's size. Default: Floyd and Jacobson 1993 s.4: the option that measures bytes."""

    max_packet: str = '1500B'
    """Largest packet, which has the whole probability under by_size. Range [1B, ]. Default: Ethernet."""

    mean_packet: str = '1500B'
    """Mean packet, whose transmission time is the step by which the average decays while idle. Range [1B, ]. Default: Ethernet; Floyd and Jacobson 1993 s.4: s, a typical time."""

    count_in_service: bool = True
    """Whether the packet being transmitted counts as queued. Default: a switch's buffer holds a packet until its last bit has left."""


class TcRedQueue(Part):
    """RED as tc and the Linux kernel have it. Packets are marked or dropped with a probability that rises with the average queue in bytes; `burst` sets the weight of the average."""

    kind: Literal["tc-red"] = "tc-red"

    limit: str = '400KB'
    """Most that the queue may hold, in bytes. Range [1B, 4294967295B]. Default: tc-red(8), EXAMPLE; tc requires it."""

    min: str = 'none'
    """Average queue below which nothing is marked; "none": a third of max. Range [1B, 4294967295B]. Default: iproute2 red_parse_opt."""

    max: str = 'none'
    """Average queue from which all is marked; "none": three times min, or a quarter of the limit. Range [1B, 4294967295B]. Default: iproute2 red_parse_opt."""

    avpkt: str = '1000B'
    """Mean packet. Range [1B, 4294967295B]. Default: tc-red(8), EXAMPLE; tc requires it."""

    burst: int | Literal["none"] = 'none'
    """Packets that may come at once to an empty queue, from which the weight of the average follows; "none": (2 min + max) / (3 avpkt). Range [1, 4294967295]. Default: iproute2 red_parse_opt."""

    probability: float = 0.02
    """Probability just below max. Range (0, 1). Default: iproute2 red_parse_opt; 1 has no place in the kernel's 32 bits."""

    bandwidth: str = '10Mbps'
    """Rate by which the average decays while idle. Not the port's unless it is written so. Default: iproute2 red_parse_opt: 10Mbit if none is given."""

    ecn: bool = False
    """Whether ECN-capable packets are marked instead of dropped. Default: tc-red(8)."""

    harddrop: bool = False
    """Whether ECN-capable packets too are dropped when the average reaches max. Default: tc-red(8)."""

    nodrop: bool = False
    """Whether packets that are not ECN-capable are queued where others are marked. Default: tc-red(8)."""

    adaptative: bool = False
    """Whether the probability adapts every 500 ms to keep the average half-way between min and max. Default: tc-red(8); Floyd, Gummadi and Shenker 2001."""

    shaped: bool = False
    """Whether a shaper (TBF, HTB) is above it, which never asks an empty RED for a packet: then its idle time never begins, and the average stands still. Default: sch_tbf.c tbf_dequeue looks by peek, sch_htb.c asks classes with packets; red_dequeue begins the idle time."""


class DoubleThresholdQueue(Part):
    """Double threshold ECN marking. Marking starts when the queue rises past one threshold and stops when it falls below another, higher or lower."""

    kind: Literal["double-threshold"] = "double-threshold"

    limit: str = '250pkt'
    """Most that the queue may hold, in bytes or packets, or "none". Range [1pkt, ]. Default: as the threshold queue."""

    start_above: str = '35pkt'
    """K1, in bytes or packets: a queue that rises past it is marked. Default: DT-CWA: K1 = 35."""

    stop_below: str = '30pkt'
    """K2, in the unit of K1: a queue that falls below it is not. Below K1: hysteresis. Above K1: early mark and early release. Default: DT-CWA: K2 = 30."""

    count_in_service: bool = True
    """Whether the packet being transmitted counts as queued. Default: a switch's buffer holds a packet until its last bit has left."""

    measure: Literal["before", "after"] = 'before'
    """Whether the arriving packet counts against the thresholds; against the limit it does. Default: as the threshold queue: the occupancy found upon arrival."""

    not_ect: Literal["pass", "drop"] = 'pass'
    """The fate of packets that are not ECN-capable while others are marked. Default: Alizadeh 2010 marks only; Linux RED drops."""


class CoupledQueue(Part):
    """Coupled single queue. Scalable packets are marked with p, classic ones dropped or marked with (p / k)^2."""

    kind: Literal["coupled"] = "coupled"

    limit: str = '1000pkt'
    """Most that the queue may hold, in bytes or packets, or "none". Range [1pkt, ]. Default: the user's switch."""

    classify: Literal["any_ect", "ect1"] = 'any_ect'
    """Which packets are marked as scalable traffic. Default: the slides: DCTCP is ECT, CUBIC is not."""

    measure: Literal["time", "bytes"] = 'time'
    """How the queue is measured. Default: the slides: in time is important for fairness."""

    slope: float = 1.7
    """Slope in bits: p is the queue in seconds times 2 to this. Default: RFC 9332 fig. 9: a classic slope of 1, and log2(1.63) for the coupling."""

    k: float = 1.63
    """Coupling factor: a classic packet meets (p / k)^2. Range [1, ]. Default: the slides: 2 / 1.22 makes DCTCP and Reno equal; 1 is p^2 itself."""


class Pi2Queue(Part):
    """PI2. A linear PI controller whose output is squared for classic traffic."""

    kind: Literal["pi2"] = "pi2"

    limit: str = '1000pkt'
    """Most that the queue may hold, in bytes or packets, or "none". Range [1pkt, ]. Default: the user's switch; Linux's PIE too."""

    classify: Literal["any_ect", "ect1"] = 'ect1'
    """Which packets are marked as scalable traffic. Default: RFC 9331 s.5.1."""

    target: str = '20ms'
    """Delay at which the queue is held. Default: De Schepper 2016; its Linux module sch_pi2 has the same."""

    interval: str = '32ms'
    """Time between updates of the probability. Range [1us, ]. Default: De Schepper 2016, T = 32 ms, not verified; its Linux module has 30 ms."""

    alpha: float = 0.3125
    """Integral gain an update, in Hz. Range [0, ]. Default: De Schepper 2016: 5/16; its Linux module has 10/16 for scalable marks, k times this."""

    beta: float = 3.125
    """Proportional gain an update, in Hz. Range [0, ]. Default: De Schepper 2016: 50/16; its Linux module has 100/16 for scalable marks."""

    k: float = 2.0
    """Coupling factor: scalable packets are marked with k times p'. Range [1, ]. Default: De Schepper 2016; its Linux module has the same."""

    max_classic: float = 0.25
    """Greatest classic probability; beyond it the limit drops. Range (0, 1]. Default: RFC 9332 s.A.2: 1/k^2, where scalable marks are certain; De Schepper 2016, not verified."""


class PolicerQueue(Part):
    """Policer. Packets within a rate and a burst pass, the others are marked or dropped; then a drop-tail queue."""

    kind: Literal["policer"] = "policer"

    rate: str = Field(...)
    """Committed rate, in bytes on the wire. Default: the user's contract."""

    burst: str = Field(...)
    """Committed burst: the bytes that may come at once. Range [1B, 1TB]. Default: the user's contract; RFC 2697 s.3: at least the largest packet."""

    meter: Literal["token-bucket", "srtcm", "trtcm"] = 'token-bucket'
    """The meter. Default: Linux act_police, most routers' default."""

    excess_burst: str = 'none'
    """With srtcm: excess burst. Range [1B, 1TB]. Default: RFC 2697."""

    peak_rate: str = 'none'
    """With trtcm: peak rate, at least the committed one. Default: RFC 2698."""

    peak_burst: str = 'none'
    """With trtcm: peak burst. Range [1B, 1TB]. Default: RFC 2698."""

    red: Literal["pass", "mark", "drop"] = 'drop'
    """The fate of red packets. Default: RFC 2697 s.1: red packets may be discarded."""

    yellow: Literal["pass", "mark", "drop"] = 'pass'
    """The fate of yellow packets. Default: RFC 2697 s.1: yellow ones are best effort."""

    limit: str = '250pkt'
    """Most that the queue behind may hold, in bytes or packets, or "none". Range [1pkt, ]. Default: as drop-tail."""


class CodelQueue(Part):
    """CoDel. Packets are dropped or marked at departure when all have waited longer than a target for an interval."""

    kind: Literal["codel"] = "codel"

    limit: str = '1000pkt'
    """Most that the queue may hold, in bytes or packets, or "none". Range [1pkt, ]. Default: Linux sch_codel."""

    target: str = '5ms'
    """Wait that may last. Default: RFC 8289 s.4.4."""

    interval: str = '100ms'
    """How long the wait may stay above the target before the first drop: the longest usual round-trip time. Range [1ps, ]. Default: RFC 8289 s.4.3."""

    ecn: bool = True
    """Whether ECN-capable packets are marked instead of dropped. Default: RFC 8289 s.1 allows it; false in Linux sch_codel."""

    ce_threshold: str = 'none'
    """Wait above which every ECN-capable packet is marked at once, or "none". Default: Linux sch_codel; RFC 8290 s.5.2.7."""

    max_packet: str = '1500B'
    """Largest packet: nothing is dropped when no more than this is left. Default: RFC 8289 s.5.3: the interface's MTU."""

    root: Literal["exact", "newton"] = 'exact'
    """How the control law's square root is taken. Default: RFC 8289 s.5.6."""

    count_in_service: bool = True
    """Whether the packet being transmitted counts as held against the limit. Default: a switch's buffer holds a packet until its last bit has left."""


class FqQueue(Part):
    """FQ. A queue for each flow, served by deficit round robin with new flows first: a Linux host's network card."""

    kind: Literal["fq"] = "fq"

    limit: str = 'none'
    """Most that all queues together may hold, in packets or bytes, or "none". Range [1pkt, ]. Default: Linux: 10000 packets, which TCP small queues keep hosts from reaching."""

    flow_limit: int | Literal["none"] = 'none'
    """Most packets of one flow, or "none". Range [1, ]. Default: Linux: 100, which TCP small queues keep a socket from reaching."""

    quantum: str = '3028B'
    """Bytes that a flow may send a round. Range [1B, 1MB]. Default: Linux fq_init: two frames of 1514 bytes."""

    initial_quantum: str = '15140B'
    """Bytes that a flow may send when it is new. Range [1B, 1MB]. Default: Linux fq_init: ten frames, an initial window."""

    fast_path: int = 8
    """Most packets that wait in order of arrival while no flow's queue holds one, or 0. Default: Linux fq_fastpath_check: internal.qlen."""

    refill_delay: str = '40ms'
    """Silence after which a flow that comes back has at least a quantum again. Default: Linux fq_init: flow_refill_delay."""


class FqCodelQueue(Part):
    """FQ-CoDel. Flows are hashed into queues, served by deficit round robin with new ones first, each under CoDel."""

    kind: Literal["fq-codel"] = "fq-codel"

    limit: str = '10240pkt'
    """Most that all queues together may hold, in packets or bytes, or "none". Range [1pkt, ]. Default: RFC 8290 s.5.2.3."""

    flows: int = 1024
    """Number of queues. Range [1, 65536]. Default: RFC 8290 s.5.2.5; the range is Linux's."""

    quantum: str = '1514B'
    """Bytes that a queue may send a round. Range [1B, 1MB]. Default: RFC 8290 s.5.2.4."""

    drop_batch: int = 64
    """Most packets dropped at once from the fattest queue when the limit is exceeded. Range [1, ]. Default: RFC 8290 s.4.1."""

    target: str = '5ms'
    """Wait that may last, in each queue. Default: RFC 8290 s.5.2.2."""

    interval: str = '100ms'
    """How long the wait may stay above the target before the first drop. Range [1ps, ]. Default: RFC 8290 s.5.2.1."""

    ecn: bool = True
    """Whether ECN-capable packets are marked instead of dropped. Default: RFC 8290 s.5.2.6."""

    ce_threshold: str = 'none'
    """Wait above which every ECN-capable packet is marked at once, or "none". Default: RFC 8290 s.5.2.7."""

    max_packet: str = '1500B'
    """Largest packet: CoDel drops nothing when no more than this is left in a queue. Default: RFC 8289 s.5.3: the interface's MTU."""

    root: Literal["exact", "newton"] = 'exact'
    """How the control law's square root is taken. Default: RFC 8289 s.5.6."""

    left_in: Literal["queue", "all"] = 'queue'
    """Where no more than `max_packet` must be left for CoDel to drop nothing: in the packet's own queue, or in all queues together, as in Linux. With many flows and few packets each, "all" drops far more: a queue with a single packet is not spared. Profile "linux" has "all". Default: RFC 8289 s.5.5: `bytes()` of the queue; "all": Linux `fq_codel_dequeue`, which hands `sch->qstats.backlog` to `codel_dequeue`."""

    count_in_service: bool = True
    """Whether the packet being transmitted counts as held against the limit. Default: a switch's buffer holds a packet until its last bit has left."""


class PieQueue(Part):
    """PIE. A controller holds the queueing delay at a target by dropping arrivals at random (RFC 8033)."""

    kind: Literal["pie"] = "pie"

    limit: str = '1000pkt'
    """Most that the queue may hold, in bytes or packets, or "none". Range [1pkt, ]. Default: Linux tc-pie."""

    target: str = '15ms'
    """Delay at which the queue is held. Default: RFC 8033 s.4.2: QDELAY_REF; s.8: 15 us in a data centre."""

    interval: str = '15ms'
    """Time between updates of the probability. Range [1us, ]. Default: RFC 8033 s.4.2: T_UPDATE."""

    alpha: float = 0.125
    """Integral gain an update, in Hz. Range [0, ]. Default: RFC 8033 appendix A; s.4.2: x 100 for a target of 150 us."""

    beta: float = 1.25
    """Proportional gain an update, in Hz. Range [0, ]. Default: RFC 8033 appendix A; s.4.2: x 100 for a target of 150 us."""

    max_burst: str = '150ms'
    """Time from the start of congestion during which nothing is dropped. Default: RFC 8033 s.4.4: MAX_BURST; s.8: 150 us in a data centre."""

    mark_ecnth: float = 0.1
    """Probability from which ECN-capable packets are dropped like any other; 0 ignores ECN. Range [0, 1]. Default: RFC 8033 s.5.1."""

    mean_packet: str = '1500B'
    """Two packets of this size are never too much in the queue. Default: RFC 8033 s.4.1: MEAN_PKTSIZE."""

    latency: Literal["timestamps", "departure_rate"] = 'timestamps'
    """How the queueing delay is measured. Default: RFC 8033 appendix A; s.4.3 allows both."""

    dq_threshold: str = '16384B'
    """Bytes that one measurement of the departure rate takes. Range [1B, 65536B]. Default: RFC 8033 appendix B: DQ_THRESHOLD, 2^14."""

    active_from: float | Literal["none"] = 'none'
    """Share of the limit from which PIE works, until congestion ends, or "none": it always works. Range [0, 1]. Default: RFC 8033 s.5.3: optional; 1/3 of the tail drop threshold."""

    derandomise: bool = False
    """Whether drops are kept from falling too close together or too far apart. Default: RFC 8033 s.5.4: optional."""

    cap_adjustment: bool = True
    """Whether a high probability rises by at most 2 % an update. Default: RFC 8033 s.5.5: optional; Linux has it."""


class RampQueue(Part):
    """A marking ramp, DCQCN's. Packets are marked as they leave, with a probability that rises linearly with the queue from kmin to kmax."""

    kind: Literal["ramp"] = "ramp"

    limit: str = 'none'
    """Most that the queue may hold, in bytes or packets, or "none". Range [1pkt, ]. Default: lossless Ethernet; the user's switch."""

    kmin: str = '5KB'
    """Bytes behind a leaving packet below which nothing is marked. Default: Zhu 2016: 5 KB at 40 Gb/s."""

    kmax: str = '200KB'
    """Bytes behind a leaving packet at which the probability is pmax, and above which every packet is marked. Range [1B, ]. Default: Zhu 2016: 200 KB at 40 Gb/s."""

    pmax: float = 0.01
    """Probability at kmax. Range (0, 1]. Default: Zhu 2016: 1 %."""


class PriorityQueue(Part):
    """Strict priority. Packets of one ECN class are sent before all others. A flow whose packets belong to both classes may see them reordered."""

    kind: Literal["priority"] = "priority"

    classify: Literal["any_ect", "ect1"] = 'any_ect'
    """The packets that go first. Default: document 003's slides; ect1 is RFC 9331's."""

    high_limit: str = '250pkt'
    """Most that the first band may hold, in bytes or packets, or "none". Range [1pkt, ]. Default: as the threshold queue."""

    low_limit: str = '250pkt'
    """Most that the second band may hold, in bytes or packets, or "none". Range [1pkt, ]. Default: as the threshold queue."""


class PfabricQueue(Part):
    """pFabric. The packet of the flow with least left to send goes first; when the queue is full, one of the flow with most left is dropped."""

    kind: Literal["pfabric"] = "pfabric"

    limit: str = '24pkt'
    """Most that the queue may hold, in bytes or packets, the packet being transmitted excluded. Range [1pkt, ]. Default: Alizadeh 2013 s.5.1: 36 KB, twice the bandwidth-delay product at 10 Gb/s."""


class TrimmingQueue(Part):
    """Trimming (NDP). A full queue cuts payloads off, and headers overtake all data. Packets of transports that do not ask for it are dropped."""

    kind: Literal["trimming"] = "trimming"

    limit: str = '8pkt'
    """Most data that the queue may hold, in bytes or packets, or "none": then nothing is trimmed. Range [1pkt, ]. Default: Handley 2017 s.3.1: eight packets."""

    last_hop_room: str = 'none'
    """Most data at a switch's port to a host, or "none": as elsewhere. Range [1pkt, ]. Default: none: Handley 2017; UE 1.0.3 p. 418: 1.5 bandwidth-delay products, and 1 elsewhere."""

    kmin: str = 'none'
    """Data behind a leaving packet above which it may be marked, or "none": nothing is. Default: none: Handley 2017; UE 1.0.3 p. 418: 0.2 of a bandwidth-delay product."""

    kmax: str = 'none'
    """Data behind a leaving packet from which on each is marked, beside kmin. In between the probability rises linearly. Range [1B, ]. Default: none: Handley 2017; UE 1.0.3 p. 418: 0.8 of a bandwidth-delay product."""

    header_limit: str = '72KB'
    """Most headers that wait, in bytes or packets, or "none". Range [1pkt, ]. Default: Handley 2017 s.3.1: the memory of eight packets of 9000 bytes; its authors' simulator: twice that."""

    count_in_service: bool = True
    """Whether the packet being transmitted counts as held. Default: the authors' simulator: a packet leaves the queue when it has been sent."""

    newest: float = 0.5
    """Probability that the newest data packet in the queue is trimmed in place of the arriving one. Range [0, 1]. Default: Handley 2017 s.3.1: one half, against phase effects."""

    headers_per_packet: int | Literal["none"] = 10
    """Headers that are sent for each data packet while both wait, or "none": headers always go first. Range [1, ]. Default: Handley 2017 s.3.1: ten, so that headers never starve data; the authors' simulator: 100 000."""

    trimmed_share: float | Literal["none"] = 'none'
    """Most of the bandwidth that trimmed packets get while data wait, in a class of their own behind answers; or "none": they are headers as others. Range (0, 1). Default: none: Handley 2017; UE 1.0.3 p. 418: one half at most, or a quarter by weights."""

    header: str = '64B'
    """Bytes that are left of a trimmed packet. Range [1B, 9000B]. Default: Handley 2017; the authors' simulator."""

    excess: Literal["return", "drop"] = 'return'
    """The fate of headers without room. Default: Handley 2017 s.3.2.4: return to sender."""


class CreditQueue(Part):
    """Credit (ExpressPass). Credits are metered so that the data that they ask for fill the link, and few of them wait. All other packets have a queue beside them."""

    kind: Literal["credit"] = "credit"

    limit: str = '250pkt'
    """Most data that wait, in bytes or packets, or "none". Range [1pkt, ]. Default: the authors' simulator at 10 Gb/s: 250 packets of 1538 bytes."""

    credit_limit: str = '8pkt'
    """Most credits that wait. Range [1pkt, ]. Default: Cho 2017 s.3.1: eight credits."""

    credit_burst: int = 2
    """Credits that may leave in a row after a time without any. Range [1, 1000]. Default: the authors' simulator: maxCreditBurst, 84 * 2 bytes."""

    full: str = '1538B'
    """Bytes on the wire of the packet that a credit asks for. Range [1B, 9300B]. Default: Cho 2017 s.3.1: the largest Ethernet frame, with preamble and gap."""


class Dualpi2Queue(Part):
    """DualPI2. A low-latency queue beside a classic one, coupled by a PI controller (RFC 9332 appendix A)."""

    kind: Literal["dualpi2"] = "dualpi2"

    limit: str = '10000pkt'
    """Most that both queues together may hold, in bytes or packets, or "none". Range [1pkt, ]. Default: Linux sch_dualpi2; RFC 9332 fig. 2: 250 ms at the link's rate."""

    classify: Literal["any_ect", "ect1"] = 'ect1'
    """Which packets go to the low-latency queue. Default: RFC 9331 s.5.1."""

    target: str = '15ms'
    """Wait at which the classic queue is held. Default: RFC 9332 fig. 2."""

    interval: str = '16ms'
    """Time between updates of the base probability. Range [1us, ]. Default: RFC 9332 s.A.1: Tupdate."""

    alpha: float = 0.16
    """Integral gain a update, in Hz. Range [0, ]. Default: RFC 9332 s.A.1."""

    beta: float = 3.2
    """Proportional gain a update, in Hz. Range [0, ]. Default: RFC 9332 s.A.1."""

    k: float = 2.0
    """Coupling factor: the low-latency queue is marked with k times the base probability. Range (0, ]. Default: RFC 9332 fig. 2."""

    threshold: str = '1ms'
    """Wait from which the low-latency queue is marked. Default: Linux sch_dualpi2: a step at 1 ms; RFC 9332 fig. 2: a ramp from 800 us."""

    ramp: str = '0s'
    """Further wait over which its marking rises to certainty; zero makes a step. Default: RFC 9332 s.A.1 note c: a step; fig. 2: 400 us."""

    threshold_packets: int | Literal["none"] = 'none'
    """Packets that a departing one may leave behind in the low-latency queue unmarked, instead of a wait, or "none". Range [1, ]. Default: Linux sch_dualpi2 do_step_aqm: the length after the dequeue."""

    min_length: int = 1
    """Packets in the low-latency queue up to which its own threshold is not applied. Default: RFC 9332 fig. 2: Th_len."""

    min_backlog: str = '0B'
    """Bytes held below which neither coupled nor classic marks and drops are made. Default: RFC 9332 figs. 4, 7 have none; s.A.1: 2 MTU in Linux."""

    scheduler: Literal["wrr", "ts_fifo", "priority"] = 'wrr'
    """Which queue is served next. Default: RFC 9332 s.A.2 recommends weighted round robin."""

    classic_weight: float = 0.0625
    """Classic queue's share of a weighted round robin. Range (0, 1). Default: RFC 9332 s.A.2: 1/16; Linux 10 %."""

    time_shift: str = '50ms'
    """Handicap of the classic queue in a time-shifted FIFO. Default: RFC 9332 s.A.2; 4 targets in a private network."""

    draw: Literal["even", "random"] = 'even'
    """How a likelihood becomes marks and drops. Default: RFC 9332 fig. 4, preferred there to random marking; Linux: random."""

    overload: Literal["drop", "overflow"] = 'drop'
    """The reaction to a coupled probability of one. Default: RFC 9332 fig. 7."""


class DualqCurvyRedQueue(Part):
    """DualQ Coupled with Curvy RED. A low-latency queue beside a classic one, coupled by two slopes (RFC 9332 appendix B)."""

    kind: Literal["dualq-curvy-red"] = "dualq-curvy-red"

    limit: str = '10000pkt'
    """Most that both queues together may hold, in bytes or packets, or "none". Range [1pkt, ]. Default: as dualpi2; RFC 9332 fig. 9: 250 ms at the link's rate."""

    classify: Literal["any_ect", "ect1"] = 'any_ect'
    """Which packets go to the low-latency queue. Default: the slides: DCTCP is ECT, CUBIC is not."""

    measure: Literal["time", "bytes"] = 'time'
    """How the queues are measured. Default: the slides: in time is important for fairness."""

    classic_slope: float = 1.0
    """Classic slope in bits: the root of the classic probability is the classic queue in seconds times 2 to this. Default: RFC 9332 fig. 9: S_C = -1."""

    low_slope: float = 4.0
    """Low-latency slope in bits: its probability is the classic queue in seconds times 2 to this. Default: the slides: classic slope + 3, so that p_classic = (p_low / 8)^2."""

    threshold: str = '1ms'
    """Wait from which the low-latency queue is marked in any case. Default: RFC 9332 fig. 9: T."""

    threshold_size: str = 'none'
    """Threshold as an amount left behind by the departing packet instead, or "none". Default: the slides: DCTCP's threshold K."""

    smoothing: float = 0.03125
    """Weight of a new measurement in the average of the classic queue. Range (0, 1]. Default: RFC 9332 fig. 9: g_C = 5; 1 takes the instant."""

    fall: Literal["decay", "keep", "min"] = 'decay'
    """How that average falls while no classic packet departs. Default: RFC 9332 s.B.1: keep by fig. 10, min by note 4; see this page's head."""

    curviness: int = 1
    """Curviness U: probabilities rise with the queue to this power, classic ones to twice it. Range [1, 16]. Default: RFC 9332 s.B.1: only 1 has been used in experiments so far."""

    min_delay: str = '0s'
    """Classic queue below which there is no coupling and no drop. Default: the slides: slopes from the origin; RFC 9332 fig. 9 prints a minTh of 500 ms, as long as its whole ramp."""

    scheduler: Literal["wrr", "ts_fifo", "priority"] = 'priority'
    """Which queue is served next. Default: the slides; RFC 9332 fig. 10: ts_fifo."""

    time_shift: str = '50ms'
    """Handicap of the classic queue in a time-shifted FIFO. Default: RFC 9332 fig. 9: tshift."""

    classic_weight: float = 0.0625
    """Classic queue's share of a weighted round robin. Range (0, 1). Default: RFC 9332 s.B.1 note 2: 1/16."""


class NonePortControl(Part):
    """No controller. The port forwards, queues and marks, as without a protocol of its own."""

    kind: Literal["none"] = "none"


class RcpPortControl(Part):
    """RCP. Each port offers one rate to all flows, updated from spare capacity and queue."""

    kind: Literal["rcp"] = "rcp"

    alpha: float = 0.4
    """Gain of spare capacity. Range (0, 10]. Default: the authors' ns-2 code: 0.4."""

    beta: float = 0.4
    """Gain of the queue. Range [0, 10]. Default: the authors' ns-2 code: 0.4."""

    interval: str = '10ms'
    """Longest time between updates; they come every average round trip where that is shorter. Range (0s, 1s]. Default: Dukkipati 2005 s.3: T = min(RTT, chosen); the authors' scripts: 10 ms."""

    target: float = 1.0
    """Share of the capacity that is offered. Range (0, 1]. Default: Dukkipati 2005 eq. (1); later scripts of the authors: 0.95."""

    initial_share: float = 0.05
    """First rate on offer, as a share of the capacity. Range (0, 1]. Default: the authors' ns-2 code: 0.05."""

    initial_rtt: str = '300us'
    """Round trip taken for the average before any sender has reported one. Range (0s, 100s]. Default: of a data centre; the authors' ns-2 code: 200 ms."""

    first_rtt: Literal["replaces", "averages"] = 'replaces'
    """The effect of the first reported round trip on the initial one. Default: of a data centre: 200 ms by the authors' average would last for minutes."""


class SdcPortControl(Part):
    """SDC. Each port tells its load factor and the highest class that is active."""

    kind: Literal["sdc"] = "sdc"

    interval: str = '300us'
    """Interval t_p over which the load is measured. Range (0s, 1s]. Default: thesis s.3.4.1: t_p is the round trip, 300 us there."""

    expiry: str = '10ms'
    """For how long a claim to a class stands that is not renewed, or "none" for ever. Range (0s, 100s]. Default: the least retransmission timeout: a sender silent so long has stopped."""


class RacsPortControl(Part):
    """RACS. Each port shares its capacity among the flows by their weights."""

    kind: Literal["racs"] = "racs"

    expiry: str = '10ms'
    """For how long a weight stands that is not renewed, or "none" for ever. Range (0s, 100s]. Default: the least retransmission timeout: a sender silent so long has stopped."""

    share: float = 1.0
    """Share of the capacity that is assigned. Range (0, 1]. Default: eq. (4.2): all of it."""

    drain: float = 0.15
    """Share of a standing queue that a slot is to drain. Range [0, 1]. Default: not in the thesis; below 1 / (2 e), so that over the two slots of delay a queue drains without swinging."""

    initial_slot: str = '300us'
    """Slot before any sender has reported a round trip. Range (0s, 100s]. Default: thesis s.3.4.1: 300 us; t_p is the average round trip."""


class D3PortControl(Part):
    """D3. Each port grants the rates that deadlines need, in order of requests, and shares out the rest."""

    kind: Literal["d3"] = "d3"

    expiry: str = '10ms'
    """For how long a claim stands that is not renewed, or "none" for ever. Range (0s, 100s]. Default: the least retransmission timeout: a sender silent so long has stopped."""

    alpha: float = 0.1
    """Gain of spare capacity. Range [0, 10]. Default: Hong 2012 s.5.2.1: the suggested 0.1."""

    beta: float = 1.0
    """Gain of the queue. Range [0, 10]. Default: Hong 2012 s.5.2.1: the suggested 1."""

    initial_interval: str = '300us'
    """Interval before any sender has reported a round trip. Range (0s, 100s]. Default: of a data centre; then the average round trip."""


class HpccPortControl(Part):
    """HPCC. Each port writes its rate, its queue, the bytes it has sent and the time into every data packet."""

    kind: Literal["hpcc"] = "hpcc"

    counts: Literal["sent", "arrived"] = 'sent'
    """The bytes that a switch counts. Default: Li 2019: txBytes; arrived ones (rxRate) make the rate oscillate."""

    written: Literal["first-bit", "last-bit"] = 'last-bit'
    """The moment of a packet's record: the queue and the bytes sent are those of then, without the packet or with it. Default: Li 2019: as the packet is emitted; its authors' simulator: first-bit, at its dequeue (switch-node.cc)."""

    unit_factor: int = 1
    """Units of the header: bytes sent count in 128 bytes times this, queues in 80 bytes times this. Range [1, 64]. Default: Li 2019: 128 B and 80 B; its authors' simulator: the hosts' rate / 25 Gb/s, so 4 at 100 Gb/s."""


class Port(Part):
    """Overrides of the ports that a name or pattern selects. A pattern changes only the settings that it names. Where several patterns select a port and name the same setting, the last one written decides."""

    rate: str = 'none'
    """Rate, or "none" to keep the topology's. Default: the topology's."""

    delay: str = 'none'
    """One-way delay, or "none" to keep the topology's. Range [0s, 100000s]. Default: the topology's."""

    trace: dict[str, Any] | Literal["none"] = 'none'
    """A trace that the rate follows, or "none". Default: a link of one rate."""

    loss: float = 0.0
    """Probability that a packet is lost on the wire behind the port. Range [0, 1]. Default: a wire without faults."""

    drop_packets: list[int] = []
    """Numbers of packets lost there, counted from 1 as they come to the far end: faults to a plan. Range [1, ]. Default: a wire without faults."""

    drop_class: str = 'none'
    """The class whose packets `drop_packets` numbers, those of other classes left out; or "none": packets of all classes together. Default: all that comes to the far end."""

    mark: float = 0.0
    """Probability that an ECN-capable packet is marked CE there: a mark process without a queue. Range [0, 1]. Default: a wire without marks."""

    mark_every: int | Literal["none"] = 'none'
    """Every so many ECN-capable packets one is marked CE there, or "none". Range [1, ]. Default: a wire without marks."""

    duplicate: float = 0.0
    """Probability that a packet is delivered twice. Range [0, 1]. Default: a wire without faults."""

    reorder: float = 0.0
    """Probability that a packet is held back, and so may be overtaken. Range [0, 1]. Default: a wire without faults."""

    reorder_delay: str = '0s'
    """Longest time for which such a packet is held back. Range [0s, 100000s]. Default: none."""

    jitter: str = '0s'
    """Mean extra time that packets take on the wire, each another one: never less than `delay` in all. Range [0s, 100000s]. Default: a wire without jitter."""

    jitter_law: Literal["uniform", "normal", "exponential", "pareto"] = 'uniform'
    """Distribution of these times. Default: Linux sch_netem, without a table."""

    jitter_correlation: float = 0.0
    """Correlation of the times of packets that follow each other. Range [0, 1). Default: each by itself."""

    jitter_order: Literal["kept", "free"] = 'kept'
    """Whether packets keep their order: then one waits for those before it. Default: a link keeps its order; Linux sch_netem's packets overtake each other."""

    burst_begins: float = 0.0
    """Chance that a burst of losses begins behind a packet (Gilbert and Elliott). Range [0, 1]. Default: a wire without faults."""

    burst_ends: float = 1.0
    """Chance that it ends: its mean length is the inverse, in packets. Range (0, 1]. Default: bursts of one packet."""

    burst_loss: float = 1.0
    """Chance of loss within a burst; outside `loss` holds. Range [0, 1]. Default: Gilbert 1960 with h = 0, Linux sch_netem's default."""

    bit_errors: float = 0.0
    """Chance that a bit is wrong. A frame with a wrong bit fails its check at the far end, long ones more often. Range [0, 0.1]. Default: a wire without faults; IEEE 802.3 allows 1e-12 to 1e-10 after correction."""

    weight: int = 1
    """Share of this port among equal next hops, with ecmp = "weighted": flows in proportion to it. Range [0, 65535]. Default: Zhou 2014 (WCMP): entries of a group; equal weights are ECMP."""

    pfc_xoff: str = 'none'
    """Flow control, port of a switch: fixed XOFF for the packets of one priority that came by this port, or "none". Range [1B, ]. Default: thresholds follow the free memory."""

    pfc_alpha: float | Literal["none"] = 0.125
    """Flow control: XOFF is this times the free shared memory, or "none". The lesser of this and `pfc_xoff` holds. Range (0, 1000000]. Default: HPCC's simulator at the rate of its hosts: 1/8."""

    pfc_hysteresis: str = '2pkt'
    """Flow control: XON lies so far below XOFF, in bytes, or in packets of the largest size. Default: Zhu 2015 (DCQCN) s.4: two MTUs."""

    pfc_headroom: str = 'none'
    """Flow control: memory for what one priority still sends after XOFF, or "none": what the link needs. Default: rate x (delays + response) + two frames + the pause frame."""

    pfc_response: str = 'none'
    """Flow control: time that this port takes to obey a pause frame, or "none": the standard's limit for its rate. Range [0s, 1s]. Default: IEEE 802.3-2018 s.31B.3.7."""

    queue: DropTailQueue | ThresholdQueue | RedQueue | TcRedQueue | DoubleThresholdQueue | CoupledQueue | Pi2Queue | PolicerQueue | CodelQueue | FqQueue | FqCodelQueue | PieQueue | RampQueue | PriorityQueue | PfabricQueue | TrimmingQueue | CreditQueue | Dualpi2Queue | DualqCurvyRedQueue | Literal["drop-tail", "threshold", "red", "tc-red", "double-threshold", "coupled", "pi2", "policer", "codel", "fq", "fq-codel", "pie", "ramp", "priority", "pfabric", "trimming", "credit", "dualpi2", "dualq-curvy-red"] | None = None
    """Another discipline."""

    port_control: NonePortControl | RcpPortControl | SdcPortControl | RacsPortControl | D3PortControl | HpccPortControl | Literal["none", "rcp", "sdc", "racs", "d3", "hpcc"] | None = None
    """Another controller; `"none"` for none."""


class Switch(Part):
    """Settings that the ports of a switch share, for the switches that a name or pattern selects. A pattern changes only the settings that it names. Where several patterns select a switch and name the same setting, the last one written decides."""

    buffer: str = 'none'
    """Memory that all ports of one switch share, or "none": every port has its own, its discipline's limit. Range [1B, ]. Default: a partition by port."""

    alpha: float | Literal["none"] = 1.0
    """Dynamic threshold: a port may hold this times the free buffer. "none" shares all with all. Range (0, 1000000]. Default: Choudhury and Hahne 1998: a saturated port leaves half free."""

    reserve: str = 'none'
    """Memory that each lossy priority of each port has for itself, taken off the buffer; or "none": 4096 bytes beside a lossless priority, otherwise nothing. It keeps acknowledgements and notifications alive while the headrooms fill. Default: simulator of HPCC's authors: 4 KB for each port and priority."""

    latency: str = '0s'
    """The delay of the switch itself: each packet comes to its queue so long after its last bit has arrived, in order and at any rate. Base and ideal times include it. A pause frame takes effect after `pfc_response`, or after the latency if that is longer. A link that fails takes the packets in this stage with it. Range [0s, 100000s]. Default: the delay of the links alone; data sheets give 300ns to 1us for chips of data centres."""


class Priority(Part):
    """A priority, named by its number from 0 to 7. Every port then has a lane for each named priority. A load names its priority in `transport.priority`."""

    quantum: str = 'none'
    """Bytes that the lane sends in a round, or "none": strict. Strict lanes go before all others, the highest number first; the others share the rest in proportion to their quanta. Range [64B, 1GB]. Default: IEEE 802.1Q-2018 s.8.6.8.1; Linux sch_ets."""

    pfc: bool = False
    """Whether it is lossless: switches pause their neighbours before their memory is full. Default: IEEE 802.1Qbb: off by default."""

    queue: DropTailQueue | ThresholdQueue | RedQueue | TcRedQueue | DoubleThresholdQueue | CoupledQueue | Pi2Queue | PolicerQueue | CodelQueue | FqQueue | FqCodelQueue | PieQueue | RampQueue | PriorityQueue | PfabricQueue | TrimmingQueue | CreditQueue | Dualpi2Queue | DualqCurvyRedQueue | Literal["drop-tail", "threshold", "red", "tc-red", "double-threshold", "coupled", "pi2", "policer", "codel", "fq", "fq-codel", "pie", "ramp", "priority", "pfabric", "trimming", "credit", "dualpi2", "dualq-curvy-red"] | None = None
    """Discipline of its lane at switch ports; by default that of the port."""

    nic: DropTailQueue | ThresholdQueue | RedQueue | TcRedQueue | DoubleThresholdQueue | CoupledQueue | Pi2Queue | PolicerQueue | CodelQueue | FqQueue | FqCodelQueue | PieQueue | RampQueue | PriorityQueue | PfabricQueue | TrimmingQueue | CreditQueue | Dualpi2Queue | DualqCurvyRedQueue | Literal["drop-tail", "threshold", "red", "tc-red", "double-threshold", "coupled", "pi2", "policer", "codel", "fq", "fq-codel", "pie", "ramp", "priority", "pfabric", "trimming", "credit", "dualpi2", "dualq-curvy-red"] | None = None
    """Discipline of its lane at host ports; by default that of the port."""


class Pfc(Part):
    """Priority-based flow control (IEEE 802.1Qbb), for the priorities with `pfc = true`. Thresholds, headroom and the response time belong to ports (`port."*->*".pfc_alpha` ..), memory to switches (`switch."*".buffer`)."""

    quanta: int = 65535
    """Length of a pause in quanta of 512 bit times. It is sent again after half of it. Range [1, 65535]. Default: IEEE 802.3-2018 s.31B.2: sixteen bits, the most."""

    lossy: Literal["refused", "allowed"] = 'refused'
    """Whether a headroom that can lose packets is refused. Default: a lossless priority is lossless."""

    deadlock: Literal["stop", "watchdog", "go-on"] = 'stop'
    """The end of a deadlock, in which ports of a cycle wait for each other for ever. Default: a run that stands still is an error."""

    watchdog: str = '200ms'
    """With deadlock = "watchdog": the detection time. A switch's port whose priority is paused for so long acts. Range (0s, 100000s]. Default: SONiC's `pfcwd start_default`; Junos: two polls of 100 ms."""

    action: Literal["drop", "forward", "flush"] = 'drop'
    """The port's action then, for this priority alone. Default: SONiC's `pfcwd`: drop."""

    restoration: str = '200ms'
    """The action ends when no pause frame about the priority has come for so long, or "none": never. `flush` has no use for it. Range (0s, 100000s]. Default: SONiC's `pfcwd start_default`; `pfcwd start`: twice the detection time."""


class Routing(Part):
    """Forwarding while links fail, static routes, and flowlets."""

    reconvergence: str = '0s'
    """Time from the failure or repair of a link until the tables of all switches follow; `"none"`: they are static. Range [0s, 100000s]. Default: tables that follow at once; the user's network takes longer."""

    routes: list[dict[str, Any]] = []
    """Static routes, each `{ at = "leaf0", to = "h4..h7", via = ["spine1", "spine2"] }`: at these switches packets for these hosts go to these next nodes instead of the computed ones. Several share as `ecmp` says. Links that are down are left out once the tables follow; if none is left, the computed next hops stand in. Default: computed tables."""

    flowlet_gap: str = '500us'
    """With ecmp = "flowlet": a flow that pauses for longer may take another path. Range [0s, 100000s]. Default: longer than paths of a data centre differ; choose by yours."""


class Event(Part):
    """A change of links at a time, under a name of its own. It sets one or more of state, rate, delay, loss and pause."""

    at: str = Field(...)
    """When. The change comes before all else of that instant. Range [0s, 100000s]. Default: the user's experiment."""

    link: str | list[str] = Field(...)
    """Links by name or pattern: "a->b" is one direction of a cable, "a<->b" are both. Default: the user's experiment."""

    state: Literal["down", "up"] | Literal["none"] = 'none'
    """Whether the links go down or come up; or "none": as they are. Packets on a link that goes down, and at its port, are lost. Default: as it is."""

    rate: str = 'none'
    """Rate from the next packet on, or "none": as it is. Default: as it is."""

    delay: str = 'none'
    """One-way delay of packets that leave from then on, or "none": as it is. A wire keeps its order. Range [0s, 100000s]. Default: as it is."""

    loss: float | Literal["none"] = 'none'
    """Probability that a packet is lost on the wire, or "none": as it is. Range [0, 1]. Default: as it is."""

    pause: list[int] = []
    """Lossless priorities that the node at the end of the links pauses: a slow receiver, or a card whose pauses never end. Range [0, 7]. Default: none."""

    pause_for: str = 'none'
    """How long it pauses them, or "none": for ever. Range (0s, 100000s]. Default: a storm of pauses lasts until somebody acts."""


class Transport(Part):
    """TCP."""

    profile: Literal["datacentre", "rfc", "linux", "ns2", "pfabric"] | None = None
    """Sets all settings at once."""

    opening: Literal["handshake", "established"] = 'handshake'
    """How a connection begins. Default: RFC 9293 s.3.5."""

    mss: str = '1460B'
    """Most payload of a segment. Range [1B, 65000B]. Default: Ethernet's 1500 less 40 bytes of headers."""

    header: str = '40B'
    """Headers of each packet as counted on the wire, options excluded. Range [1B, 500B]. Default: IPv4 and TCP without options."""

    timestamps: bool = False
    """Whether packets carry the timestamp option (12 bytes more). Default: RFC 7323; the simulator always knows the times."""

    initial_window: str = '10pkt'
    """First congestion window. Range [1pkt, ]. Default: RFC 6928."""

    lost_syns: int | Literal["none"] = 1
    """SYNs sent again after which the first window is one segment, or "none". A lost SYN+ACK counts: the SYN goes again for it. Range [1, ]. Default: RFC 5681 s.3.1; Linux tcp_init_transfer: 2, since RFC 6298 waits for 1 s only."""

    initial_ssthresh: str = 'none'
    """First slow-start threshold, or "none". Range [1pkt, ]. Default: RFC 5681 s.3.1: arbitrarily high."""

    receive_window: str = 'none'
    """Receive window, or "none". Range [1pkt, ]. Default: data centres tune it out of the way."""

    cwnd_max: str = 'none'
    """Most congestion window, or "none". Range [1pkt, ]. Default: none but TCP's own, 1 GiB (RFC 7323 s.2.3)."""

    window_counts: Literal["bytes", "segments"] = 'bytes'
    """Whether all bytes of a window let segments out, or its whole segments only. Default: RFC 5681 counts bytes; ns-2 cuts its window to a whole number."""

    cwnd_floor: str = '1pkt'
    """Least congestion window after an ECN reduction. Range [1pkt, ]. Default: RFC 8257 s.3.3; Linux and RFC 3168 keep 2."""

    ssthresh_floor: str = '2pkt'
    """Least slow-start threshold. Range [1pkt, ]. Default: RFC 5681 eq. (4)."""

    growth: Literal["bytes", "delivered", "acks"] = 'bytes'
    """The unit in which acknowledgements let the window grow. Default: RFC 3465; Linux tcp_cong_control: acked_sacked."""

    arithmetic: Literal["exact", "linux"] = 'exact'
    """How windows are counted and rounded. Default: RFC 5681 counts bytes; Linux's tcp_dctcp.c, tcp_cong.c count segments."""

    loss_halves: Literal["flight", "window"] = 'flight'
    """The amount that a loss halves. Default: RFC 5681 eq. (4); ns-2: the window."""

    slow_start_limit: float = 2.0
    """Most segments that one acknowledgement adds in slow start. Range [1, ]. Default: RFC 3465 s.2.3: L = 2."""

    validate_cwnd: bool = True
    """Whether only a window that limits the sender may grow. Default: RFC 7661 s.4.3; RFC 5681 is silent."""

    growth_cap: Literal["none", "max-flight"] = 'none'
    """How far a window grows that its sender does not fill: with "max-flight" to twice the most data in flight since the last reduction in slow start, and beyond it by the growth of a round trip in congestion avoidance. Needs `validate_cwnd = false`. Default: draft-ietf-ccwg-ratelimited-increase s.3 rule 2: max-flight."""

    saved_cwnd: str = 'none'
    """Congestion window that an earlier connection over the path has saved, from which each connection of the load resumes; or "none". Range [1pkt, ]. Default: RFC 9959 s.3.1: the bytes of a round trip; connections here save nothing themselves."""

    saved_rtt: str = 'none'
    """Least round-trip time of that connection; or "none". Range (0s, ]. Default: RFC 9959 s.3.1; s.4.2.1: between a tenth and twice of the present one."""

    max_jump: str = 'none'
    """Most window to which a resuming sender jumps, where half of `saved_cwnd` is more; or "none". Range [1pkt, ]. Default: RFC 9959 s.3.3 and s.4.3.2: a bound that a sender may configure."""

    resume_beta: float = 0.5
    """Share of the data that arrived after a jump, to which a sender that retreats sets its slow-start threshold. Range [0.5, 1]. Default: RFC 9959 s.2.4 and s.3.5, Beta: 0.5."""

    idle_restart: bool = True
    """Whether an idle sender starts again from the restart window. Default: RFC 5681 s.4.1."""

    idle_halves: bool = False
    """Whether it starts again from a window that was halved for each timeout of the idle time, in slow start up to three quarters of the old one. Default: RFC 2861; Linux tcp_cwnd_restart."""

    sack: bool = True
    """Whether the receiver reports the data it holds (RFC 2018), and loss is found by it (RFC 6675). Default: RFC 2018."""

    loss_detection: Literal["rfc6675", "rack"] = 'rfc6675'
    """How losses are found with SACK. Without it by duplicate acknowledgements alone (RFC 6582). Default: RFC 6675; Linux's is RFC 8985."""

    tail_loss_probe: bool = False
    """Whether a lost tail is probed for after two round trips; with SACK. Default: RFC 8985 s.7; Linux's default."""

    pipe: Literal["rfc6675", "sack1"] = 'rfc6675'
    """How recovery by RFC 6675 counts the data in flight. Default: RFC 6675 s.4."""

    dup_acks: int = 3
    """Duplicate acknowledgements that signal a loss. Range [1, 10000]. Default: RFC 5681 s.3.2."""

    limited_transmit: bool = True
    """Whether the first duplicate acknowledgements each let a new segment out. Default: RFC 3042."""

    prr: bool = False
    """Whether recovery sends by proportional rate reduction. Default: RFC 6937; Linux's default."""

    prr_on_ecn: bool = False
    """Whether ECN reductions too are spread over a round trip by it. Default: Linux, state CWR."""

    initial_rto: str = '1s'
    """First retransmission timeout, before any RTT is known. Range (0s, ]. Default: RFC 6298 s.2.1; less where every RTT is known to be short, or a lost SYN decides the tail."""

    min_rto: str = '10ms'
    """Least retransmission timeout. Range (0s, ]. Default: Alizadeh 2010 s.4: 10 ms in data centres; RFC 6298 says 1 s."""

    rto_rtts: float | Literal["none"] = 'none'
    """First and least retransmission timeout in round trips of the connection's empty path, in place of `initial_rto` and `min_rto`; or "none". Range [1.5, 1000]. Default: Alizadeh 2013 (pFabric) s.4.3: about 3; RFC 6298 knows no path."""

    max_rto: str = '60s'
    """Most retransmission timeout. Range (0s, ]. Default: RFC 6298 s.2.5."""

    rto_backoff: int = 2
    """Factor of the timeout for each one in a row. Range [1, 16]. Default: RFC 6298 s.5.5."""

    max_timeouts: int = 15
    """Timeouts in a row after which the connection is given up. Range [1, 60]. Default: RFC 9293 s.3.8.3: at least 100 s; Linux tcp_retries2."""

    clock_grain: str = '0s'
    """Grain G of the sender's clock: RTT samples are rounded to it, timeouts allow for it. Default: exact; RFC 6298 s.4 wants 100 ms or less."""

    timer_grain: str = '0s'
    """Ticks with which timers expire, the longer ones in coarser steps; 0 for exact ones. Default: exact; Linux: kernel/time/timer.c at HZ = 1000."""

    timer_slack: str = '0s'
    """The extra wait of loss probes and the reordering timer beyond their time. Default: RFC 8985 s.6.2, 7.2: none; Linux TCP_TIMEOUT_MIN_US: 2 ms."""

    rtt_by: Literal["timestamps", "karn"] = 'timestamps'
    """How the round-trip time is measured. Default: RFC 7323 s.4."""

    ack_every: int = 1
    """Segments that one acknowledgement covers at most. Range [1, 255]. Default: each segment; RFC 5681 s.4.2: two."""

    ack_counts: Literal["bytes", "segments"] = 'segments'
    """Whether a short segment counts towards `ack_every` as a whole one, or by its bytes: then it waits for more. Default: RFC 9293 s.3.8.6.3 allows both; ns-2's two-way TCP: bytes."""

    ack_delay: str = '1ms'
    """How long an acknowledgement may wait for the next segment. Range (0s, 500ms]. Default: data centre; RFC 5681 s.4.2: at most 500 ms."""

    ack_pieces: int = 1
    """Acknowledgements by which a misbehaving receiver acknowledges each segment, each a part of its bytes (ACK division). Range [1, 1000]. Default: RFC 9293 s.3.8.6.3: one; Savage 1999 s.2.1 for more."""

    ack_repeats: int = 0
    """Duplicates that a misbehaving receiver sends behind each acknowledgement, as if as many segments had left the network (forged duplicate acknowledgements). Range [0, 1000]. Default: RFC 5681 s.4.2: none without a gap; Savage 1999 s.2.2."""

    ack_ahead: str = 'none'
    """How far a misbehaving receiver acknowledges beyond the data that came, never further than as much again; or "none". Lost data below it is never asked for again, so what holds it is not delivered (optimistic acknowledgements). Range [1pkt, ]. Default: RFC 9293 s.3.10.7.4: none; Savage 1999 s.2.3."""

    quick_acks: int = 0
    """Segments at the start, after a gap of the minimum RTO, and after one that brought nothing new, that are acknowledged one by one. Default: none in the RFCs; Linux: 16 (tcp_event_data_recv, tcp_data_queue)."""

    ack_pushed: bool = False
    """Whether the last segment of what the application has written is acknowledged at once. Default: none in the RFCs; Linux tcp_measure_rcv_mss and tcp_cleanup_rbuf, where the application reads at once."""

    burst: int = 1
    """Segments that a sender gathers and sends back to back, at most a third of the window: segmentation offload. Range [1, 64]. Default: Linux tcp_tso_should_defer, tcp_tso_win_divisor = 3; 64 KB are 44 segments."""

    small_queues: str = '4MiB'
    """TCP small queues: most bytes that a sender has in its host's port, or "none". It stops at a 1024th of a second at its pacing rate, or two packets if that is more, and goes on when one has left. Range [1B, ]. Default: Linux tcp_small_queue_check, tcp_limit_output_bytes; the RFCs have none."""

    app_limit_checks: Literal["events", "writes"] = 'events'
    """Where the sender asks whether its application limits it. Samples of the delivery rate that were limited raise an estimate and never lower it, so this decides what a control that counts on them learns from short messages. Default: draft-ietf-ccwg-bbr s.4.1.2.4; Linux tcp_sendmsg_locked: writes."""

    priority: int = 0
    """Priority of data packets at ports that tell priorities apart: a lane each (section `priority`). Range [0, 7]. Default: IEEE 802.1Q-2018 s.6.9.3: best effort."""

    demote_at: list[str] = []
    """Bytes that a connection has sent, at each of which its data packets fall to the next lower priority (PIAS). All bytes of a connection count, of whichever message. A retransmission has the priority of its bytes; the authors' module gives it the latest one, and the first one again after timeouts in a row. Range [1B, ]. Default: Bai 2015 (PIAS) s.3: thresholds that follow from the sizes of flows."""

    ack_priority: int | Literal["none"] = 'none'
    """Priority of acknowledgements, or "none": that of the data, before any demotion. Range [0, 7]. Default: IEEE 802.1Q: a stream's frames carry one priority."""

    nagle: bool = False
    """Whether a short segment waits while data is outstanding. Default: RFC 9293 s.3.7.4 lets applications turn it off, and RPC libraries do."""

    ecn: Literal["auto", "on", "off"] = 'auto'
    """Whether data packets are ECN-capable. Default: DCTCP needs it, NewReno works without."""

    ect: Literal["auto", "ect0", "ect1"] = 'auto'
    """Which codepoint ECN-capable packets carry. Default: ECT(1) for Prague (RFC 9331 s.4.1), ECT(0) else (RFC 3168 s.5)."""

    echo: Literal["auto", "until-cwr", "per-packet", "accecn", "never"] = 'auto'
    """How the receiver reports marks. Default: RFC 8257 s.3.2 for DCTCP, RFC 9768 for Prague, RFC 3168 else."""

    hide_marks: bool = False
    """Whether a misbehaving receiver agrees on ECN and reports no mark. With `echo = "never"` it does not even agree. Default: RFC 3168 s.6.1.3: each mark is reported; RFC 3540 s.1 for one that hides them."""

    ecn_acks: Literal["change", "linux"] = 'change'
    """The segments that ECN makes the receiver acknowledge at once. Default: RFC 8257 s.3.2; Linux dctcp_ece_ack_update, tcp_ecn_accept_cwr, tcp_data_ecn_check."""

    ecn_fallback: bool = False
    """Whether a SYN that is sent again no longer asks for ECN. Default: RFC 3168 s.6.1.1.1 allows it; Linux tcp_ecn_fallback."""

    ect_on_control: Literal["never", "needed", "always"] = 'never'
    """Whether SYN, pure acknowledgements and retransmissions are ECN-capable too. Default: RFC 3168 s.6.1.1, 6.1.4, 6.1.5: not; Linux tcp_ecn_send: for DCTCP, Prague and AccECN."""

    ece_growth: Literal["each", "first", "cut-first", "round"] = 'each'
    """Which acknowledgements with ECN-Echo stop growth. Default: RFC 3168 s.6.1.2."""

    handshake_marks: bool = False
    """Whether the SYN+ACK's ECN-Echo counts as a mark. Default: RFC 3168 s.6.1.1: it agrees on ECN; ns-2's DCTCP counts it."""

    cc: NewrenoCc | CbrCc | CubicCc | DctcpCc | XdctcpCc | D2tcpCc | AimdCc | DtCwaCc | RcpCc | SdcCc | RacsCc | D3Cc | PragueCc | DcqcnCc | TimelyCc | HpccCc | SwiftCc | CopaCc | Bbr1Cc | Bbr3Cc | PfabricCc | NsccCc | LineRateCc | KernelCc | CustomPart | Literal["newreno", "cbr", "cubic", "dctcp", "xdctcp", "d2tcp", "aimd", "dt-cwa", "rcp", "sdc", "racs", "d3", "prague", "dcqcn", "timely", "hpcc", "swift", "copa", "bbr1", "bbr3", "pfabric", "nscc", "line-rate", "kernel"] | None = None
    """Congestion control."""


class Roce(Part):
    """RoCEv2. Queue pairs of RDMA network cards: messages cut into packets of the MTU, go-back-N or IRN, notifications. Hosts' ports are drop-tail: each queue pair has one packet there at most, so that they take turns."""

    profile: Literal["roce"] = "roce"

    mtu: str = '1024B'
    """Payload of a full packet. Range [1B, 9000B]. Default: InfiniBand: 256, 512, 1024, 2048 or 4096; the simulators of DCQCN's and HPCC's authors: 1000."""

    verb: Literal["write", "send", "read"] = 'write'
    """The operation that carries messages. Of "read" the receiving end asks for each, and nothing is acknowledged. Default: storage and collectives write; SEND has no RETH."""

    qps: int = 1
    """Queue pairs between a sender and a receiver. Each has a hash of its own, so that switches spread them over paths, and a control of its own. Range [1, 256]. Default: verbs: a queue pair is one; collective libraries open several, so that more hashes fill the paths."""

    qp_share: Literal["parts", "turns"] = 'parts'
    """With several of them, what each carries: "parts" of every message, or whole messages in "turns". Default: the user's library; parts fill several paths with one message."""

    reads: int = 16
    """With verb = "read", requests of a queue pair that are outstanding at most. Range [1, 1024]. Default: cards say how many (max_qp_rd_atom), usually 16; not verified."""

    ethernet: str = '18B'
    """Ethernet's bytes of each packet: 18 for header and checksum, 38 with preamble and gap. Range [0B, 100B]. Default: IEEE 802.3: 14 and 4; TCP's packets here begin at IP."""

    repair: Literal["go-back-n", "go-back-0", "irn"] = 'go-back-n'
    """How lost packets are repaired. Default: RoCEv2 cards; their first ones for go-back-0; Mittal 2018 for irn."""

    reordering: Literal["refused", "allowed"] = 'refused'
    """Without irn, whether routing may send packets of a queue pair over several paths. Each that overtakes counts as a loss. Default: InfiniBand s.9.7.5: a packet beyond the expected one reports a loss."""

    ack_every: int = 1
    """Packets that one acknowledgement covers at most. A message's last packet is acknowledged at once, and one behind which the window lets no other out. Range [1, 4096]. Default: HPCC's authors' simulator, in effect; DCQCN's: 256. Controls by delay or telemetry learn from each."""

    nak_interval: str = 'none'
    """Without irn, time after which a gap is reported again, or "none": once a gap. Range (0s, 10s]. Default: InfiniBand: one NAK a gap; HPCC's authors' simulator: 500 us."""

    timeout: str = '67.108864ms'
    """Without irn, time without an acknowledgement after which all is sent again. Range (0s, 10000s]. Default: InfiniBand: 4.096 us x 2^n, n = 14 as usual; cards: 4 ms at least."""

    retry_count: int = 7
    """Timeouts in a row that a queue pair survives. One more, and it fails: with irn after 8 x rto_high, 2.56 ms without an answer. Range [0, 1000]. Default: InfiniBand: three bits, 7 the most and usual."""

    rto_high: str = '320us'
    """With irn, timeout while at least rto_low_packets are in flight; "none": the round trip of the flow's longest empty path, and the time in which a switch's port sends its full buffer. Range (0s, 10s]. Default: Mittal 2018, not verified: the longest path and a full buffer at 40 Gb/s."""

    rto_low: str = '100us'
    """With irn, timeout while fewer are. Range (0s, 10s]. Default: Mittal 2018, not verified."""

    rto_low_packets: int = 3
    """With irn, packets in flight below which rto_low holds. Range [1, 1000000]. Default: Mittal 2018, not verified: N = 3."""

    timeout_resends: Literal["first", "all"] = 'first'
    """With irn, what a timeout sends again: "first", the oldest packet, and others once a later one has arrived; or "all" of which no answer came. Default: Mittal 2018, not verified; all: conweave, which pays one timeout for a lost tail."""

    bdp: str = 'none'
    """With irn, most data in flight, counted in full packets; "none": the card's rate times the round trip of the flow's empty path. Range [1B, ]. Default: Mittal 2018: the bandwidth-delay product of the longest path."""

    ecn: Literal["auto", "on", "off"] = 'auto'
    """Whether data packets are ECN-capable, so that switches mark them: "auto" where the control learns about marks. Marks cause notifications, which line-rate and controls by delay or telemetry only count. Default: Zhu 2015: DCQCN needs it; a card's packets may be ECN-capable under any control."""

    cnp_interval: str = '50us'
    """Least time between two notifications of a queue pair; 0 for one a marked packet. Range [0s, 1s]. Default: Zhu 2015: 50 us at the receiver; cards since: 0 or 4 us, and the sender spaces its cuts."""

    priority: int = 0
    """Priority of data packets at ports that tell priorities apart: a lane each (section `priority`). Range [0, 7]. Default: IEEE 802.1Q-2018 s.6.9.3: best effort."""

    ack_priority: int | Literal["none"] = 'none'
    """Priority of acknowledgements, or "none": that of the data. Range [0, 7]. Default: DCQCN's authors: that of the data; HPCC's authors' simulator: above it for DCQCN and TIMELY."""

    cnp_priority: int | Literal["none"] = 'none'
    """Priority of notifications, or "none": that of the acknowledgements. Range [0, 7]. Default: Zhu 2015: a high one of its own."""

    cc: NewrenoCc | CbrCc | CubicCc | DctcpCc | XdctcpCc | D2tcpCc | AimdCc | DtCwaCc | RcpCc | SdcCc | RacsCc | D3Cc | PragueCc | DcqcnCc | TimelyCc | HpccCc | SwiftCc | CopaCc | Bbr1Cc | Bbr3Cc | PfabricCc | NsccCc | LineRateCc | KernelCc | CustomPart | Literal["newreno", "cbr", "cubic", "dctcp", "xdctcp", "d2tcp", "aimd", "dt-cwa", "rcp", "sdc", "racs", "d3", "prague", "dcqcn", "timely", "hpcc", "swift", "copa", "bbr1", "bbr3", "pfabric", "nscc", "line-rate", "kernel"] | None = None
    """Congestion control."""


class Ndp(Part):
    """NDP. Senders begin with a window at the line rate, switches trim what does not fit, and receivers pull the rest at the rate of their link. `cc` is line-rate, since pulls are all the control there is. Hosts' ports are trimming without limits: what receivers send goes before data."""

    profile: Literal["ndp"] = "ndp"

    mtu: str = '9000B'
    """Payload of a full packet. Range [1B, 9000B]. Default: Handley 2017 s.6: jumbo frames; the authors' simulator: 9000, and 9064 with the header."""

    header: str = '64B'
    """Bytes of a packet's header, and of acknowledgements, NACKs and pulls. Range [1B, 200B]. Default: the authors' simulator."""

    initial_window: str = '23pkt'
    """Packets that leave without a pull, in packets or bytes. Range [1pkt, ]. Default: the authors' examples: 15 or 23; Handley 2017 s.6: 20 to 30 fill all links."""

    timeout: str = '5ms'
    """A packet without an answer is sent again after this, counted from when it leaves the host's port. Range (0s, 10000s]. Default: the authors' simulator: 5 ms at least; Handley 2017 s.3.2.3: 1 ms would do."""

    pull_timeout: str = '100ms'
    """A packet leaves without its pull when none has come for so long. Range (0s, 10000s]. Default: none: longer than the pulls of an incast of 8000 flows at 10 Gb/s; it matters where pulls are lost."""

    resend_acks: int = 4
    """Acknowledgements among the last 12 answers from which on a packet that came back is sent again at once. Range [0, 13]. Default: the authors' simulator: more than a quarter, so that its path alone is bad; 13 for never."""

    untrimmed: Literal["refused", "allowed"] = 'refused'
    """Whether ports of switches may drop packets that they could trim. Default: Handley 2017 s.3: a receiver learns of each packet."""

    cc: NewrenoCc | CbrCc | CubicCc | DctcpCc | XdctcpCc | D2tcpCc | AimdCc | DtCwaCc | RcpCc | SdcCc | RacsCc | D3Cc | PragueCc | DcqcnCc | TimelyCc | HpccCc | SwiftCc | CopaCc | Bbr1Cc | Bbr3Cc | PfabricCc | NsccCc | LineRateCc | KernelCc | CustomPart | Literal["newreno", "cbr", "cubic", "dctcp", "xdctcp", "d2tcp", "aimd", "dt-cwa", "rcp", "sdc", "racs", "d3", "prague", "dcqcn", "timely", "hpcc", "swift", "copa", "bbr1", "bbr3", "pfabric", "nscc", "line-rate", "kernel"] | None = None
    """Congestion control."""


class Expresspass(Part):
    """ExpressPass. Receivers send credits at a rate, switches meter them so that data fit the links, and each lets a packet out. `cc` is line-rate, since credits are all the control there is. Hosts' ports have the discipline credit."""

    profile: Literal["expresspass"] = "expresspass"

    mtu: str = '1460B'
    """Payload of a full packet. Range [1B, 9000B]. Default: the authors' simulator: 1538 bytes less the header."""

    header: str = '78B'
    """Bytes of a packet's header on the wire. Range [1B, 200B]. Default: the authors' simulator: xpassHdrSize."""

    credit: str = '84B'
    """Bytes of a credit, and of requests, stops and their answers. Range [1B, 200B]. Default: Cho 2017 s.3.1: the least Ethernet frame, with preamble and gap."""

    first_rate: float = 0.5
    """First rate of a flow's credits, as a part of what fills the link. Range (0, 1]. Default: the authors' simulator: alpha."""

    w_first: float = 0.0625
    """How far the first increase goes. Range (0, 1]. Default: the authors' simulator: w_init."""

    w_min: float = 0.01
    """The least weight of an increase. Range (0, 1]. Default: Cho 2017 s.3.2; the authors' simulator: min_w_."""

    w_max: float = 0.5
    """The greatest weight of an increase. Range (0, 1]. Default: Cho 2017 s.3.2."""

    control: Literal["simulator", "algorithm-1"] = 'simulator'
    """The rule by which the rate of credits follows their losses. Default: ns2-xpass, credit_feedback_control: with algorithm 1 the queue of credits stays full, and a later flow loses most of its own."""

    target_loss: float = 0.1
    """With control = "algorithm-1": share of dropped credits up to which the rate grows. Range [0, 1). Default: Cho 2017 s.3.2: 10 per cent."""

    judged: Literal["own", "known"] = 'known'
    """The credits by whose losses an update of the rate goes. Default: the authors' simulator; the paper does not say when fates are known."""

    jitter: float = 0.1
    """The time between two credits is longer or shorter by up to this part of it, at random. Range [0, 1). Default: the authors' simulator: from -0.1 to 0.1."""

    timeout: str = '1ms'
    """A request or a stop goes again after this without an answer, or after two round trips if that is longer. Range (0s, 10000s]. Default: the authors' simulator: 1 ms for stops, 0.1 ms for requests."""

    patience: str = '100ms'
    """A receiver to which nothing comes for so long sends no more credits. Range (0s, 10000s]. Default: none: longer than the time between credits of thousands of flows at 10 Gb/s."""

    unmetered: Literal["refused", "allowed"] = 'refused'
    """Whether ports of switches may pass credits on without a meter, and credits may take other links than data. Default: Cho 2017 s.3.1: every port meters, and paths are symmetric."""

    cc: NewrenoCc | CbrCc | CubicCc | DctcpCc | XdctcpCc | D2tcpCc | AimdCc | DtCwaCc | RcpCc | SdcCc | RacsCc | D3Cc | PragueCc | DcqcnCc | TimelyCc | HpccCc | SwiftCc | CopaCc | Bbr1Cc | Bbr3Cc | PfabricCc | NsccCc | LineRateCc | KernelCc | CustomPart | Literal["newreno", "cbr", "cubic", "dctcp", "xdctcp", "d2tcp", "aimd", "dt-cwa", "rcp", "sdc", "racs", "d3", "prague", "dcqcn", "timely", "hpcc", "swift", "copa", "bbr1", "bbr3", "pfabric", "nscc", "line-rate", "kernel"] | None = None
    """Congestion control."""


class Homa(Part):
    """Homa. Messages begin with the bytes of a round trip, and receivers grant the rest, shortest first, on priorities that they choose. `cc` is line-rate, since grants are all the control there is. Levels are the priorities from 0 on: scheduled ones below, unscheduled ones above, and all but data in the highest."""

    profile: Literal["homa"] = "homa"

    mtu: str = '1440B'
    """Payload of a full packet. Range [1B, 9000B]. Default: ours: with the header a packet of 1500 bytes, the authors' simulator's."""

    header: str = '60B'
    """Bytes of a packet's header, and of grants. Range [1B, 200B]. Default: ours."""

    rtt_bytes: str = '10000B'
    """Bytes of a message that leave without a grant, and bytes that grants keep on the way, in whole packets. Range [1B, 1GB]. Default: the authors' simulator: a round trip at 10 Gb/s."""

    unscheduled_levels: int = 1
    """Priorities of unscheduled packets; without any they have the highest scheduled one. Range [0, 7]. Default: Montazeri 2018 s.3.4: by the share of unscheduled bytes, 1 for the largest messages."""

    scheduled_levels: int = 7
    """Priorities of scheduled packets. Range [1, 8]. Default: Montazeri 2018 s.3.4: the other of 8."""

    cutoffs: list[str] = []
    """Sizes of messages from which on unscheduled packets have the next lower priority, one fewer than `unscheduled_levels`. Range [1B, ]. Default: none; `sizes` has them computed."""

    sizes: dict[str, Any] | Literal["none"] = 'none'
    """Sizes of messages, by which each unscheduled level gets equally many bytes, or "none". Default: Montazeri 2018 s.3.4; its receivers measure them."""

    overcommitment: int | Literal["none"] = 'none'
    """Messages to which a receiver grants at a time, or "none" for as many as scheduled levels. Range [1, 1000000]. Default: Montazeri 2018 s.3.5."""

    timeout: str = '2ms'
    """A receiver asks again for what was granted when nothing has come for so long, and a sender that gets no answer sends again. Range (0s, 10000s]. Default: ours: Montazeri 2018 s.3.7 speaks of a few milliseconds."""

    cc: NewrenoCc | CbrCc | CubicCc | DctcpCc | XdctcpCc | D2tcpCc | AimdCc | DtCwaCc | RcpCc | SdcCc | RacsCc | D3Cc | PragueCc | DcqcnCc | TimelyCc | HpccCc | SwiftCc | CopaCc | Bbr1Cc | Bbr3Cc | PfabricCc | NsccCc | LineRateCc | KernelCc | CustomPart | Literal["newreno", "cbr", "cubic", "dctcp", "xdctcp", "d2tcp", "aimd", "dt-cwa", "rcp", "sdc", "racs", "d3", "prague", "dcqcn", "timely", "hpcc", "swift", "copa", "bbr1", "bbr3", "pfabric", "nscc", "line-rate", "kernel"] | None = None
    """Congestion control."""


class Uec(Part):
    """Ultra Ethernet's transport, in its mode of reliable delivery in any order. Packets carry entropy values, by which switches spread them over paths; `ecmp` must be a choice by flow. Lost packets are sent again one by one. Hosts' ports are trimming without limits: ten answers go for each packet of data while both wait."""

    profile: Literal["uec"] = "uec"

    mtu: str = '4096B'
    """Payload of a full packet. Range [1B, 9000B]. Default: UE 1.0.3: 1024, 2048, 4096 or 8192 as usual; uet-htsim: 4086 beside 64 of headers."""

    header: str = '64B'
    """Bytes of a packet's headers, and of answers. Windows count them. Range [1B, 200B]. Default: uet-htsim 40ccb05: 64."""

    entropy: Literal["single", "oblivious", "bitmap", "reps", "reps-freezing", "reps-legacy", "mixed", "states"] = 'mixed'
    """How the entropy value of each packet is chosen. Default: uet-htsim 40ccb05: its default."""

    entropies: int = 64
    """Entropy values that a connection has, a power of two. Range [1, 65536]. Default: UE 1.0.3 s.3.6.16: 64 to 256; uet-htsim: 64, and 128 in its tests."""

    denied: list[int] = []
    """Values that a controller denies: no packet, answer or probe carries them. It needs entropy = "states". Range [0, 65535]. Default: notes on MRC 1.0: a controller denies values; UE 1.0.3 has none."""

    ack_bytes: str = '16384B'
    """Bytes after which an answer is due. Each packet counts 1 KiB at least. Range [1B, 1GB]. Default: UE 1.0.3 s.3.5: ACK_Gen_Trigger, 16 KiB."""

    room: Literal["full", "own"] = 'full'
    """The room in the window that a packet needs. Default: UE 1.0.3 s.3.6.13.5: inflight + MTU <= cwnd; uet-htsim: own."""

    timeout: str = '1ms'
    """A packet without an answer is sent again after this, counted from when it leaves the host's port. Range (0s, 8s]. Default: UE 1.0.3 s.3.5 leaves it to the card; uet-htsim: 15 us and six full queues."""

    backoff: Literal["doubled", "none"] = 'doubled'
    """Whether a packet's timer doubles with each of its timeouts. Default: UE 1.0.3 s.3.5: RTO_Init x 2^retries, 8 s at most; uet-htsim: none."""

    retries: int = 5
    """Timeouts of a packet that a connection survives. Range [0, 1000]. Default: UE 1.0.3 s.3.5: five as usual."""

    recovery: Literal["timers", "sleek"] = 'timers'
    """The repair of packets that nobody reported, beside timers. Default: UE 1.0.3 s.3.5: timers; uet-htsim 40ccb05: -sleek, for switches that do not trim."""

    receiver_credit: bool = False
    """Whether receivers give credit (RCCC), beside the control or alone: "line-rate" has no window. Default: UE 1.0.3 s.3.6.14: optional; uet-htsim: -receiver_cc."""

    start_probe: bool = False
    """Whether a probe measures the base round trip after a connection's first answer. It matters where cc.base_rtt is longer than the path's. Default: UE 1.0.3 s.3.6.13.7 sends one; here each control knows its path."""

    port_status: bool = False
    """Whether a card with several ports uses none whose link is down, and its answers tell the peer's card which ones these are. Default: notes on MRC 1.0: a message tells peers of a dead plane; UE 1.0.3 has none."""

    untrimmed: Literal["refused", "allowed"] = 'refused'
    """Whether ports of switches may drop packets that they could trim. Default: UE 1.0.3 s.4.1: trimming may be absent; then write it, and trimming = false in cc."""

    cc: NewrenoCc | CbrCc | CubicCc | DctcpCc | XdctcpCc | D2tcpCc | AimdCc | DtCwaCc | RcpCc | SdcCc | RacsCc | D3Cc | PragueCc | DcqcnCc | TimelyCc | HpccCc | SwiftCc | CopaCc | Bbr1Cc | Bbr3Cc | PfabricCc | NsccCc | LineRateCc | KernelCc | CustomPart | Literal["newreno", "cbr", "cubic", "dctcp", "xdctcp", "d2tcp", "aimd", "dt-cwa", "rcp", "sdc", "racs", "d3", "prague", "dcqcn", "timely", "hpcc", "swift", "copa", "bbr1", "bbr3", "pfabric", "nscc", "line-rate", "kernel"] | None = None
    """Congestion control."""


class Udp(Part):
    """Datagrams: UDP, or unreliable datagrams of RoCEv2. Nothing is acknowledged or sent again, and no congestion control is at work. Loads of the kind `datagrams` have this profile, and no others."""

    profile: Literal["udp"] = "udp"

    mtu: str = '1472B'
    """Most payload of a packet, and so of a datagram. Range [1B, 65000B]. Default: Ethernet's 1500 less 28 bytes of headers."""

    header: str = '28B'
    """Bytes of a packet's header. Range [1B, 200B]. Default: IPv4 and UDP (RFC 768); with RoCEv2's BTH, DETH and checksum 52."""

    ecn: Literal["not-ect", "ect0", "ect1"] = 'not-ect'
    """The ECN codepoint of packets. With ect0 or ect1 switches mark them instead of dropping them, and nobody reacts. Default: RFC 8085 s.3.1.7: only an application that reacts to marks may set ECT; the others show what such traffic does."""

    priority: int = 0
    """Priority of packets at ports that tell priorities apart: a lane each (section `priority`). Range [0, 7]. Default: IEEE 802.1Q-2018 s.6.9.3: best effort."""

    send_buffer: str = '212992B'
    """Most bytes of a sender in its host's port. A datagram that would exceed it waits. Range [1B, ]. Default: Linux net.core.wmem_default, where a program that blocks waits."""

    cc: NewrenoCc | CbrCc | CubicCc | DctcpCc | XdctcpCc | D2tcpCc | AimdCc | DtCwaCc | RcpCc | SdcCc | RacsCc | D3Cc | PragueCc | DcqcnCc | TimelyCc | HpccCc | SwiftCc | CopaCc | Bbr1Cc | Bbr3Cc | PfabricCc | NsccCc | LineRateCc | KernelCc | CustomPart | Literal["newreno", "cbr", "cubic", "dctcp", "xdctcp", "d2tcp", "aimd", "dt-cwa", "rcp", "sdc", "racs", "d3", "prague", "dcqcn", "timely", "hpcc", "swift", "copa", "bbr1", "bbr3", "pfabric", "nscc", "line-rate", "kernel"] | None = None
    """Congestion control."""


class BulkLoad(Part):
    """Bulk. Connections that send a fixed amount, or without end."""

    kind: Literal["bulk"] = "bulk"

    from_: str | list[str] = Field(...)
    """Sending hosts. Default: the user's network."""

    to: str | list[str] = []
    """Receiving hosts; left out with the pattern "permutation". Default: the user's network."""

    pattern: Literal["all", "pairs", "permutation"] = 'all'
    """How senders and receivers are paired. "all": each with each. "pairs": the first with the first and so on, in the order in which the lists name them; the shorter list starts again. "permutation": each sender with one other sender, at random. Default: incast and many-to-one are the usual cases."""

    flows: int = 1
    """Connections for each pair; none is a load that a sweep leaves out. Range [0, 100000]. Default: one connection."""

    bytes: str = 'none'
    """Bytes of each connection, or "none" for no end. Range [1B, ]. Default: a long flow."""

    start: str = '0s'
    """When the first connection starts. Default: at once."""

    stagger: str = '0s'
    """How much later each further connection starts. Default: together."""

    jitter: str = '0s'
    """Each start is moved by a random time below this. Default: none; random phases want one."""

    primer: str = '0B'
    """Bytes sent at time 0, before the start proper, on the same connection. Default: none; the ns-2 inputs of xDCTCP send 10 000."""

    transport: Transport | Roce | Ndp | Expresspass | Homa | Uec | Udp | None = None
    """Settings over those of `[transport]`, for this load."""

    class_: str | None = None
    """Class in the statistics; by default the load's name."""


class MessagesLoad(Part):
    """Messages. Each sender writes a message of one size at equal intervals."""

    kind: Literal["messages"] = "messages"

    from_: str | list[str] = Field(...)
    """Sending hosts. Default: the user's network."""

    to: str | list[str] = []
    """Receiving hosts; left out with the pattern "permutation". Default: the user's network."""

    pattern: Literal["all", "pairs", "permutation"] = 'all'
    """How senders and receivers are paired. "all": each with each. "pairs": the first with the first and so on, in the order in which the lists name them; the shorter list starts again. "permutation": each sender with one other sender, at random. Default: incast and many-to-one are the usual cases."""

    bytes: str = Field(...)
    """Bytes of each message. Range [1B, ]. Default: the user's application."""

    interval: str = Field(...)
    """Time from one message to the next. Range (0s, ]. Default: the user's application."""

    start: str = '0s'
    """When the first sender writes its first message. Default: at once."""

    stagger: str = '0s'
    """How much later each further sender starts. Default: together."""

    phase: Literal["aligned", "random"] = 'aligned'
    """When within its interval a sender writes. Default: random phases for statistics over seeds."""

    count: int | Literal["none"] = 'none'
    """Messages of each sender, or "none" for no end. Range [1, ]. Default: as long as the run lasts."""

    connection: Literal["persistent", "fresh"] = 'persistent'
    """The connections that carry the messages. Default: RPC libraries keep connections."""

    primer: str = '0B'
    """Bytes sent at time 0, before the first message, on a persistent connection. Default: none; the ns-2 inputs of xDCTCP send 10 000."""

    deadline: FixedDeadline | UniformDeadline | ExponentialDeadline | Literal["fixed", "uniform", "exponential"] | None = None
    """Distribution of the time that messages have."""

    transport: Transport | Roce | Ndp | Expresspass | Homa | Uec | Udp | None = None
    """Settings over those of `[transport]`, for this load."""

    class_: str | None = None
    """Class in the statistics; by default the load's name."""


class PoissonLoad(Part):
    """Poisson. Flows of random size arrive at random times between random hosts: each flow's pair is drawn from those that the pattern makes."""

    kind: Literal["poisson"] = "poisson"

    from_: str | list[str] = Field(...)
    """Sending hosts. Default: the user's network."""

    to: str | list[str] = []
    """Receiving hosts; left out with the pattern "permutation". Default: the user's network."""

    pattern: Literal["all", "pairs", "permutation"] = 'all'
    """How senders and receivers are paired. "all": each with each. "pairs": the first with the first and so on, in the order in which the lists name them; the shorter list starts again. "permutation": each sender with one other sender, at random. Default: incast and many-to-one are the usual cases."""

    load: float | Literal["none"] = 'none'
    """Offered load: payload over the rate of the receiving hosts' links together, or "none". Range (0, 10]. Default: either this or `every`."""

    every: str = 'none'
    """Mean time from one arrival to the next, or "none". Range (0s, ]. Default: either this or `load`."""

    fan_in: int = 1
    """Flows of each arrival, from as many different hosts to one receiver: an incast that nobody asks for. Range [1, 100000]. Default: one; Li 2019 (HPCC): 60 senders of 500 KB each."""

    rack: float | Literal["none"] = 'none'
    """Share of flows to a receiver under the sender's own switch, or "none". With `pod` and `far` it makes 1; without all three each receiver is as likely. Range [0, 1]. Default: Roy 2015 (SIGCOMM): locality differs from service to service."""

    pod: float | Literal["none"] = 'none'
    """Share of flows to a receiver behind two or three switches, or "none": in a fat tree the sender's pod without its own switch, in a leaf-spine network all other leaves. Range [0, 1]. Default: as `rack`."""

    far: float | Literal["none"] = 'none'
    """Share of flows to a receiver behind more switches, or "none". Range [0, 1]. Default: as `rack`."""

    start: str = '0s'
    """When arrivals begin. Default: at once."""

    stop: str = 'none'
    """When arrivals end, or "none". Default: as long as the run lasts."""

    sizes: FixedSizes | UniformSizes | ParetoSizes | EmpiricalSizes | Literal["fixed", "uniform", "pareto", "empirical"] | None = None
    """Distribution of sizes."""

    deadline: FixedDeadline | UniformDeadline | ExponentialDeadline | Literal["fixed", "uniform", "exponential"] | None = None
    """Distribution of the time that messages have."""

    transport: Transport | Roce | Ndp | Expresspass | Homa | Uec | Udp | None = None
    """Settings over those of `[transport]`, for this load."""

    class_: str | None = None
    """Class in the statistics; by default the load's name."""


class IncastLoad(Part):
    """Incast. Rounds of a request to each worker, a response from each, and a barrier. The table of messages lists the responses, that of rounds the time from the requests to the last response."""

    kind: Literal["incast"] = "incast"

    to: str | list[str] = Field(...)
    """The host that asks. Default: the user's network."""

    from_: str | list[str] = Field(...)
    """The workers' hosts. Default: the user's network."""

    workers: int | Literal["none"] = 'none'
    """Workers; beyond the number of hosts, several share one. Range [1, 100000]. Default: one a host."""

    request: str = '100B'
    """Bytes of a request. Range [1B, ]. Default: a short query."""

    response: str = 'none'
    """Bytes of each response, or "none" where `total` is given. Range [1B, ]. Default: either this or `total`."""

    total: str = 'none'
    """Bytes of all responses of a round together, or "none" where `response` is given. Range [1B, ]. Default: Alizadeh 2010 s.4.2.1: 1 MB."""

    rounds: int | Literal["none"] = 'none'
    """Rounds, or "none" for no end. Range [1, ]. Default: as long as the run lasts."""

    start: str = '0s'
    """When the first round starts. Default: at once."""

    gap: str = '0s'
    """Time from the barrier to the next round. Default: at once."""

    jitter: str = '0s'
    """Each request is sent at a random time below this after the round's start. Default: none; Alizadeh 2010 s.2.3.2 reports 10 ms in practice."""

    connection: Literal["persistent", "fresh"] = 'persistent'
    """The connections that carry requests and responses. Default: as in Alizadeh 2010."""

    deadline: FixedDeadline | UniformDeadline | ExponentialDeadline | Literal["fixed", "uniform", "exponential"] | None = None
    """Distribution of the time that messages have."""

    transport: Transport | Roce | Ndp | Expresspass | Homa | Uec | Udp | None = None
    """Settings over those of `[transport]`, for this load."""

    class_: str | None = None
    """Class in the statistics; by default the load's name."""


class TableLoad(Part):
    """Table. Flows as listed in the experiment or in a CSV file, each with its ends, size and start."""

    kind: Literal["table"] = "table"

    name: str = ''
    """Name of the file that the flows came from. Default: recorded with the result."""

    flows: list[dict[str, Any]] = Field(...)
    """The flows; filled in from the named file. Default: the user's trace."""

    connection: Literal["persistent", "fresh"] = 'fresh'
    """The connections that carry the flows: one for each row, or one for each sender and receiver, whose rows it sends in order of their starts. The completion time of a row then counts from its start in both cases. Default: flows of a trace; RDMA applications keep their queue pairs, so "persistent" there."""

    transport: Transport | Roce | Ndp | Expresspass | Homa | Uec | Udp | None = None
    """Settings over those of `[transport]`, for this load."""

    class_: str | None = None
    """Class in the statistics; by default the load's name."""


class DatagramsLoad(Part):
    """Datagrams. Each sender sends packets without repair and without acknowledgements (UDP; unreliable datagrams of RoCEv2): at a rate, with pauses, or from a trace. The table `datagrams` counts what arrived and what was lost, with delays and jitter."""

    kind: Literal["datagrams"] = "datagrams"

    from_: str | list[str] = Field(...)
    """Sending hosts. Default: the user's network."""

    to: str | list[str] = []
    """Receiving hosts; left out with the pattern "permutation". Default: the user's network."""

    pattern: Literal["all", "pairs", "permutation"] = 'all'
    """How senders and receivers are paired. "all": each with each. "pairs": the first with the first and so on, in the order in which the lists name them; the shorter list starts again. "permutation": each sender with one other sender, at random. Default: incast and many-to-one are the usual cases."""

    bytes: str = 'none'
    """Payload of each datagram, or "none" where `sizes` or a trace says it. Range [1B, ]. Default: either this or `sizes`."""

    rate: str = 'none'
    """Payload sent in a second, while the sender sends; or "none". Default: either this or `every`."""

    every: str = 'none'
    """Mean time from one datagram to the next, while the sender sends; or "none". Range (0s, ]. Default: either this or `rate`."""

    gaps: Literal["even", "exponential"] = 'even'
    """The times between datagrams. Even ones follow the size with `rate`, so that the rate is exact at each instant. Default: a constant bit rate."""

    on: str = 'none'
    """Mean time for which a sender sends, or "none" for no pauses. Range (0s, 100000s]. Default: no pauses."""

    off: str = 'none'
    """Mean time for which it is then silent. Range (0s, 100000s]. Default: no pauses."""

    periods: Literal["constant", "exponential", "pareto"] = 'exponential'
    """How long it sends and is silent. Default: a Markov source; Brady 1969 for speech."""

    shape: float = 1.5
    """Shape of the Pareto distribution of these times. Range (1, 10]. Default: Willinger 1997: between 1 and 2, where the variance is infinite; ns-2's Pareto source: 1.5."""

    start: str = '0s'
    """When the first sender begins. Default: at once."""

    stagger: str = '0s'
    """How much later each further sender begins. Default: together."""

    jitter: str = '0s'
    """Each beginning is moved by a random time below this. Default: none; random phases want one."""

    stop: str = 'none'
    """When senders end, or "none". Default: as long as the run lasts."""

    count: int | Literal["none"] = 'none'
    """Datagrams of each sender, or "none" for no end. Range [1, ]. Default: as long as the run lasts."""

    name: str = ''
    """Name of the file that the trace came from. Default: recorded with the result."""

    trace: list[dict[str, Any]] = []
    """A trace that each sender sends once; filled in from the named file. It stands in place of sizes, rates and pauses. Default: none."""

    sizes: FixedSizes | UniformSizes | ParetoSizes | EmpiricalSizes | Literal["fixed", "uniform", "pareto", "empirical"] | None = None
    """Distribution of sizes."""

    transport: Transport | Roce | Ndp | Expresspass | Homa | Uec | Udp | None = None
    """Settings over those of `[transport]`, for this load."""

    class_: str | None = None
    """Class in the statistics; by default the load's name."""


class CollectiveLoad(Part):
    """Collective. Ranks exchange the blocks of a buffer in steps. A message begins when those that it waits for have been delivered at its sender. The table of steps lists them, that of rounds the whole operations."""

    kind: Literal["collective"] = "collective"

    hosts: str | list[str] = Field(...)
    """The hosts that the ranks may have, in the order of the list; those of one pattern in the network's order. Default: the user's network."""

    ranks: int | Literal["none"] = 'none'
    """Ranks, each on a host of its own that no such job before it in the file has; or "none": one on each named host. Range [2, ]. Default: the named hosts are the job."""

    placement: Literal["block", "striped", "random"] = 'block'
    """The order in which ranks fill the hosts. Default: schedulers fill rack after rack."""

    operation: Literal["all-reduce", "all-gather", "reduce-scatter", "all-to-all", "broadcast", "reduce", "send-recv"] = 'all-reduce'
    """The operation. A broadcast begins at the first rank, and a reduction ends there. Default: data-parallel training."""

    algorithm: Literal["ring", "halving-doubling", "tree", "double-tree", "hierarchical"] = 'ring'
    """The order in which ranks exchange blocks; an all-to-all and a send-recv have no choice. Default: the usual one for large buffers."""

    group: int | Literal["none"] = 'none'
    """Ranks of a server, one after another, of a hierarchical all-reduce; or "none". Range [2, ]. Default: the user's servers."""

    bytes: str = Field(...)
    """Bytes of the buffer of each rank, all blocks together: each rank gives so much to an all-reduce, a reduce-scatter or an all-to-all, and holds so much after an all-gather. The size of nccl-tests is the same. MPI counts one block, an n-th of it for n ranks, in all operations but the all-reduce. Range [1B, ]. Default: the user's application."""

    channels: int = 1
    """Channels: each has an equal share of the buffer, and a connection of its own for each pair of ranks. Connections of one pair may take different paths. Range [1, 256]. Default: one connection a pair."""

    chunks: int = 1
    """Chunks of each channel's share. Each goes its way by itself, so that a rank sends one on while it receives the next. Range [1, 65536]. Default: a step is one message."""

    window: int | Literal["none"] = 1
    """Messages of an all-to-all that a rank may be ahead of those that it has received; 1 sends to one peer after another, "none" to all at once. Other operations have 1. Range [1, ]. Default: the pairwise exchange of MPICH."""

    rounds: int | Literal["none"] = 'none'
    """Operations one after another, or "none" for no end. With `buckets`, each is one operation a bucket. Range [1, ]. Default: as long as the run lasts."""

    start: str = '0s'
    """When the ranks begin. Default: at once."""

    gap: str = '0s'
    """Time that a rank computes between the end of an operation at that rank and the beginning of its next. Default: at once."""

    buckets: int = 1
    """Equal shares of the buffer, each an operation of its own, one after another. Range [1, 10000]. Default: the whole buffer at once."""

    compute: str = '0s'
    """Time of the computation that makes the buckets one by one, as a backward pass makes gradients. Bucket b of n is ready after b/n of it, and its operation begins then, if that of the bucket before has ended at the rank. Default: the buffer is there."""

    jitter: str = '0s'
    """Each rank begins each operation at a random time below this after it could. Default: ranks that compute for equally long."""

    connection: Literal["persistent", "fresh"] = 'persistent'
    """The connections that carry the messages; those that are kept open at time 0. Default: libraries open connections once."""

    transport: Transport | Roce | Ndp | Expresspass | Homa | Uec | Udp | None = None
    """Settings over those of `[transport]`, for this load."""

    class_: str | None = None
    """Class in the statistics; by default the load's name."""


class GraphLoad(Part):
    """Graph. Messages as listed in the experiment or in a CSV or JSON file. Each leaves a time of computation after the messages that it waits for. The table of steps has a row for each, that of rounds one for the whole."""

    kind: Literal["graph"] = "graph"

    name: str = ''
    """Name of the file that the messages came from. Default: recorded with the result."""

    messages: list[dict[str, Any]] = Field(...)
    """The messages; filled in from the named file. Default: the user's trace."""

    connection: Literal["persistent", "fresh"] = 'persistent'
    """The connections that carry them; those that are kept open at time 0, one for each pair of hosts. Default: libraries open connections once."""

    transport: Transport | Roce | Ndp | Expresspass | Homa | Uec | Udp | None = None
    """Settings over those of `[transport]`, for this load."""

    class_: str | None = None
    """Class in the statistics; by default the load's name."""


class Probe(Part):
    """The choice of recordings. No choice here changes the behaviour of the network."""

    queues: bool = True
    """Time-weighted queue lengths and waiting times of every switch port. Default: the queue is what this laboratory is about."""

    nic_queues: bool = False
    """Time-weighted queue lengths and waiting times of the hosts' own ports. Default: hosts queue without limit; rarely of interest."""

    at_dequeue: bool = False
    """Queue length left behind by each departure. Default: the measure of document 003's figures."""

    waits: bool = True
    """Waiting times and one-way delays of data packets by class. Default: the delay that short flows suffer."""

    queue_trace: str = 'off'
    """Queue length over time: "off", "change" or an interval. Default: rows cost memory: ask for what is drawn."""

    port_trace: str = 'off'
    """Packets, bytes, marks and drops of each class at each traced port: "off" or an interval. Default: rows cost memory: ask for what is drawn."""

    ports: str | list[str] = '*->*'
    """Ports that the two traces above cover: a pattern covers ports of switches only, a full name any. Default: switch ports, where the queues are."""

    flow_trace: str = 'off'
    """Congestion window, ssthresh, RTT, alpha and pacing rate of each flow over time: "off", "change" (of window or rate) or an interval. Default: rows cost memory: ask for what is drawn."""

    classes: str | list[str] = '*'
    """Classes whose flows `flow_trace` covers. Default: all."""

    packets: str | list[str] = []
    """Ports whose packets are recorded one by one as they leave (`run --pcap` writes them for Wireshark). Default: rows cost memory: ask for what is looked at."""

    audit: bool = False
    """All that `./shallows audit` reads: the packets of every port, those that ports lost, and each change of a window or rate (`flow_trace`). Default: rows cost memory: ask for it where a run is to be audited."""

    shares: bool = False
    """The table `shares`: for each recorded port (`queues`, `nic_queues`) and each connection its packets, bytes and waits there. A run's summary then names the ports for which ranks of a collective waited. Default: rows cost memory: ask for it where the cause of a wait is looked for."""

    trace_rows: int = 20000000
    """Most rows that one trace may hold; a run that needs more ends with an error. Range [1, ]. Default: about 1 GB: memory stays bounded."""


class Python(Part):
    """Algorithms, workloads and topologies written in Python."""

    modules: str | list[str] = []
    """Python files, relative to the experiment file; the components that they declare can be named as any built-in. Default: none."""

    components: list[dict[str, Any]] = []
    """The components that the modules declare; filled in from them. Default: the modules."""


class Experiment(WholeExperiment):
    """The settings of one run."""

    title: str = ''
    """A title of one line. Default: none."""

    duration: str = Field(...)
    """Simulated time. Range (0s, 100000s]. Default: the user's experiment."""

    warmup: str = '0s'
    """Time after which statistics begin. Default: from the start."""

    seed: int = 1
    """Seed of all random numbers. Default: any."""

    ecmp: Literal["flow", "round-robin", "random", "weighted", "flowlet", "permutation", "least-loaded", "symmetric", "structured"] = 'flow'
    """How several equally short paths are shared: by flows, each by a hash, by bursts of flows, or by packets. Default: RFC 2992; packets overtake each other where they share paths."""

    topology: StarTopology | DumbbellTopology | ParkingLotTopology | TreeTopology | MultiRackTopology | LeafSpineTopology | FatTreeTopology | TorusTopology | DragonflyTopology | RailTopology | GraphTopology | CustomPart | Literal["star", "dumbbell", "parking-lot", "tree", "multi-rack", "leaf-spine", "fat-tree", "torus", "dragonfly", "rail", "graph"] | None = None
    """The network."""

    queue: DropTailQueue | ThresholdQueue | RedQueue | TcRedQueue | DoubleThresholdQueue | CoupledQueue | Pi2Queue | PolicerQueue | CodelQueue | FqQueue | FqCodelQueue | PieQueue | RampQueue | PriorityQueue | PfabricQueue | TrimmingQueue | CreditQueue | Dualpi2Queue | DualqCurvyRedQueue | Literal["drop-tail", "threshold", "red", "tc-red", "double-threshold", "coupled", "pi2", "policer", "codel", "fq", "fq-codel", "pie", "ramp", "priority", "pfabric", "trimming", "credit", "dualpi2", "dualq-curvy-red"] | None = None
    """Discipline of switch ports."""

    nic: DropTailQueue | ThresholdQueue | RedQueue | TcRedQueue | DoubleThresholdQueue | CoupledQueue | Pi2Queue | PolicerQueue | CodelQueue | FqQueue | FqCodelQueue | PieQueue | RampQueue | PriorityQueue | PfabricQueue | TrimmingQueue | CreditQueue | Dualpi2Queue | DualqCurvyRedQueue | Literal["drop-tail", "threshold", "red", "tc-red", "double-threshold", "coupled", "pi2", "policer", "codel", "fq", "fq-codel", "pie", "ramp", "priority", "pfabric", "trimming", "credit", "dualpi2", "dualq-curvy-red"] | None = None
    """Discipline of host ports. By default that of the profile: `fq` for `datacentre` and `linux`, drop-tail without limit for others and where profiles differ."""

    port_control: NonePortControl | RcpPortControl | SdcPortControl | RacsPortControl | D3PortControl | HpccPortControl | Literal["none", "rcp", "sdc", "racs", "d3", "hpcc"] | None = None
    """The switches' half of a protocol with explicit feedback."""

    port: dict[str, Port] | None = None
    """Overrides of ports by name or pattern; each changes what it names and no more."""

    switch: dict[str, Switch] | None = None
    """Shared buffers of switches, by name or pattern."""

    priority: dict[str, Priority] | None = None
    """Priorities at ports, by their numbers from 0 to 7."""

    pfc: Pfc | None = None
    """Flow control of the lossless priorities."""

    routing: Routing | None = None
    """Forwarding while links fail, and flowlets."""

    event: dict[str, Event] | None = None
    """Changes of links at their times, by name."""

    transport: Transport | Roce | Ndp | Expresspass | Homa | Uec | Udp | None = None
    """TCP, or queue pairs of RoCEv2, and the congestion control."""

    traffic: dict[str, BulkLoad | MessagesLoad | PoissonLoad | IncastLoad | TableLoad | DatagramsLoad | CollectiveLoad | GraphLoad | CustomPart] | None = None
    """The loads, by name."""

    probe: Probe | None = None
    """The records of a run."""

    python: Python | None = None
    """Algorithms, workloads and topologies written in Python."""

    seeds: int | list[int] | None = None
    """So many seeds from 1 on, or these."""

    sweep: dict[str, Any] | None = None
    """`grid`, `zip` and `points`: settings by dotted path."""

    summary: dict[str, Any] | None = None
    """`sizes` and `percentiles`: the grouping of results."""
