// SPDX-License-Identifier: GPL-2.0-only
// What a cell is: the arguments of the program, and ns-3's defaults that follow from them.
#pragma once
#include "ns3/core-module.h"
#include "ns3/internet-module.h"

using namespace ns3;

static const uint32_t PACKET = 1500;
static const uint32_t PPP = 2;
static const uint32_t MSS = 1448; // with 20 bytes of IP, 20 of TCP and 12 of timestamps

struct Arguments
{
    std::string cc = "dctcp", disc = "fifo", limit = "100p", starts;
    bool ecn = false, redEcn = false;
    uint64_t rate = 0, senderRate = 0, delayNs = 0, warmupNs = 0, durationNs = 0;
    uint64_t bufferBytes = 1 << 20, minRtoNs = 0, ackDelayNs = 0;
    uint32_t ackEvery = 2, window = 10, seed = 1;
    double dctcpG = 0.0625, redMin = 0, redMax = 0, redWeight = 1, redProbability = 1;
    uint32_t rounds = 0, request = 0, response = 0; // incast, if there are rounds
    uint64_t firstNs = 0, jitterNs = 0, gapNs = 0;

    void Read(int count, char** words)
    {
        CommandLine line;
        line.AddValue("cc", "newreno, cubic or dctcp", cc);
        line.AddValue("ecn", "RFC 3168", ecn);
        line.AddValue("disc", "fifo or red", disc);
        line.AddValue("limit", "of the disc: 98p or 600000B", limit);
        line.AddValue("red-min", "packets, or bytes if the limit is in bytes", redMin);
        line.AddValue("red-max", "the same", redMax);
        line.AddValue("red-weight", "of the newest queue in the average", redWeight);
        line.AddValue("red-probability", "at the maximum", redProbability);
        line.AddValue("red-ecn", "marks and does not drop", redEcn);
        line.AddValue("rate", "bit/s of the bottleneck, in bytes of IP", rate);
        line.AddValue("sender-rate", "bit/s", senderRate);
        line.AddValue("delay-ns", "of each of the two links", delayNs);
        line.AddValue("starts", "of the senders, ns, with commas", starts);
        line.AddValue("warmup-ns", "statistics begin", warmupNs);
        line.AddValue("duration-ns", "the end", durationNs);
        line.AddValue("buffer", "bytes of send and receive buffers", bufferBytes);
        line.AddValue("min-rto-ns", "least retransmission timeout", minRtoNs);
        line.AddValue("ack-every", "segments", ackEvery);
        line.AddValue("ack-delay-ns", "of delayed acknowledgements", ackDelayNs);
        line.AddValue("window", "initial window, segments", window);
        line.AddValue("dctcp-g", "gain of alpha", dctcpG);
        line.AddValue("seed", "of what is random", seed);
        line.AddValue("rounds", "of incast; 0: bulk", rounds);
        line.AddValue("request", "bytes", request);
        line.AddValue("response", "bytes", response);
        line.AddValue("first-ns", "the first round begins", firstNs);
        line.AddValue("jitter-ns", "of requests", jitterNs);
        line.AddValue("gap-ns", "between rounds", gapNs);
        line.Parse(count, words);
    }
};

static Arguments arguments;

static uint64_t Clock() { return Simulator::Now().GetPicoSeconds(); }

static void Defaults()
{
    const auto& a = arguments;
    RngSeedManager::SetSeed(a.seed);
    const std::map<std::string, std::string> kinds{
        {"newreno", "ns3::TcpLinuxReno"}, {"cubic", "ns3::TcpCubic"}, {"dctcp", "ns3::TcpDctcp"}};
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue(kinds.at(a.cc)));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", StringValue("ns3::TcpPrrRecovery"));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(MSS));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(a.window));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(a.ackEvery));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(NanoSeconds(a.ackDelayNs)));
    Config::SetDefault("ns3::TcpSocket::ConnTimeout", TimeValue(Seconds(1)));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(a.bufferBytes));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(a.bufferBytes));
    Config::SetDefault("ns3::TcpSocket::TcpNoDelay", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(NanoSeconds(a.minRtoNs)));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::UseEcn", StringValue(a.ecn ? "On" : "Off"));
    Config::SetDefault("ns3::TcpDctcp::DctcpShiftG", DoubleValue(a.dctcpG));
    // Its delays are of timestamps that count milliseconds, and the simulator has standard slow start.
    Config::SetDefault("ns3::TcpCubic::HyStart", BooleanValue(false));
}
