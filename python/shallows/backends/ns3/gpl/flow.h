// SPDX-License-Identifier: GPL-2.0-only
// Connections: what their senders write, what their receivers read, and counters of both.
#pragma once
#include "cell.h"

#include <functional>
#include <iostream>

struct Counts
{
    uint64_t received = 0, sent = 0, retransmissions = 0, timeouts = 0, recoveries = 0, ecnReductions = 0;
};

// A connection: what its sender still has to write, what its receiver has read, and counters.
struct Flow
{
    uint32_t number = 0;
    bool endless = false;
    uint64_t toWrite = 0, startPs = 0;
    bool connected = false;
    Ptr<Socket> socket;
    SequenceNumber32 highest{0};
    Counts counts, before; // before: when statistics began
    double alpha = -1;

    void Open(Ptr<Node> from, Ipv4Address to, uint16_t port)
    {
        startPs = Clock();
        socket = Socket::CreateSocket(from, TcpSocketFactory::GetTypeId());
        socket->Bind(InetSocketAddress(Ipv4Address::GetAny(), 10000 + number));
        socket->SetConnectCallback(MakeCallback(&Flow::Connected, this), MakeNullCallback<void, Ptr<Socket>>());
        socket->TraceConnectWithoutContext("Tx", MakeCallback(&Flow::Sent, this));
        socket->TraceConnectWithoutContext("RTO", MakeCallback(&Flow::Timer, this));
        socket->TraceConnectWithoutContext("CongState", MakeCallback(&Flow::State, this));
        PointerValue control;
        socket->GetAttribute("CongestionOps", control);
        if (auto dctcp = DynamicCast<TcpDctcp>(control.Get<TcpCongestionOps>()))
            dctcp->TraceConnectWithoutContext("CongestionEstimate", MakeCallback(&Flow::Alpha, this));
        socket->Connect(InetSocketAddress(to, port));
    }

    void Write(uint64_t bytes)
    {
        toWrite += bytes;
        Fill();
    }

    void Connected(Ptr<Socket>)
    {
        connected = true;
        socket->SetSendCallback(MakeCallback(&Flow::Room, this));
        Fill();
    }

    void Room(Ptr<Socket>, uint32_t) { Fill(); }

    // In pieces of a segment, so that the buffer need not cut them.
    void Fill()
    {
        while (connected && (endless || toWrite > 0))
        {
            uint32_t piece = endless ? MSS : std::min<uint64_t>(MSS, toWrite);
            if (socket->GetTxAvailable() < piece || socket->Send(Create<Packet>(piece)) <= 0)
                return;
            toWrite -= endless ? 0 : piece;
        }
    }

    void Sent(Ptr<const Packet> packet, const TcpHeader& header, Ptr<const TcpSocketBase>)
    {
        if (packet->GetSize() == 0)
            return;
        auto end = header.GetSequenceNumber() + packet->GetSize();
        counts.sent++;
        if (end <= highest)
            counts.retransmissions++;
        highest = std::max(highest, end);
    }

    void Timer(Time old, Time now) { counts.timeouts += old.IsStrictlyPositive() && now == old + old; }

    void State(TcpSocketState::TcpCongState_t, TcpSocketState::TcpCongState_t now)
    {
        counts.recoveries += now == TcpSocketState::CA_RECOVERY;
        counts.ecnReductions += now == TcpSocketState::CA_CWR;
    }

    void Alpha(uint32_t, uint32_t, double now) { alpha = now; }

    void Print(std::ostream& out) const
    {
        auto since = [this](uint64_t Counts::*what) { return counts.*what - before.*what; };
        out << "{\"start_ps\":" << startPs << ",\"delivered_bytes\":" << since(&Counts::received)
            << ",\"packets_sent\":" << since(&Counts::sent)
            << ",\"retransmissions\":" << since(&Counts::retransmissions)
            << ",\"timeouts\":" << since(&Counts::timeouts)
            << ",\"fast_recoveries\":" << since(&Counts::recoveries)
            << ",\"ecn_reductions\":" << since(&Counts::ecnReductions) << ",\"alpha\":";
        (alpha < 0 ? out << "null" : out << alpha) << "}";
    }
};

// Reads all that comes to a port, and says of which flow it is: senders' ports are 10000 and the flow's number.
struct Listener
{
    std::function<void(uint32_t, uint32_t)> heard;

    void Listen(Ptr<Node> node, uint16_t port)
    {
        auto socket = Socket::CreateSocket(node, TcpSocketFactory::GetTypeId());
        socket->Bind(InetSocketAddress(Ipv4Address::GetAny(), port));
        socket->Listen();
        socket->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                  MakeCallback(&Listener::Accepted, this));
    }

    void Accepted(Ptr<Socket> socket, const Address&) { socket->SetRecvCallback(MakeCallback(&Listener::Read, this)); }

    void Read(Ptr<Socket> socket)
    {
        Address peer;
        socket->GetPeerName(peer);
        uint32_t bytes = 0;
        while (auto packet = socket->Recv())
            bytes += packet->GetSize();
        if (bytes > 0)
            heard(InetSocketAddress::ConvertFrom(peer).GetPort() - 10000, bytes);
    }
};
