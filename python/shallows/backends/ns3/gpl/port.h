// SPDX-License-Identifier: GPL-2.0-only
// The bottleneck: time at each number of waiting packets, and what left it.
#pragma once
#include "cell.h"

#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <iostream>

struct Port
{
    Ptr<QueueDisc> disc;
    Ptr<PointToPointNetDevice> device;
    std::vector<uint64_t> timePs;
    uint32_t waiting = 0; // in the disc and in the device, without the one that it sends
    uint64_t since = 0, packets = 0, bytes = 0;
    uint64_t marksBefore = 0, dropsBefore = 0, earlyBefore = 0; // when statistics began
    bool warm = false;

    void Attach()
    {
        disc->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&Port::Changed, this));
        device->GetQueue()->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&Port::Changed, this));
        device->TraceConnectWithoutContext("PhyTxEnd", MakeCallback(&Port::Left, this));
    }

    void Changed(uint32_t, uint32_t) { Count(); }

    void Count()
    {
        if (warm && Clock() > since)
        {
            if (timePs.size() <= waiting)
                timePs.resize(waiting + 1);
            timePs[waiting] += Clock() - since;
        }
        since = Clock();
        waiting = disc->GetNPackets() + device->GetQueue()->GetNPackets();
    }

    void Left(Ptr<const Packet> packet)
    {
        packets += warm;
        bytes += warm ? packet->GetSize() - PPP : 0;
    }

    uint64_t Early() const
    {
        const auto& stats = disc->GetStats();
        return stats.GetNDroppedPackets(RedQueueDisc::UNFORCED_DROP) +
               stats.GetNDroppedPackets(RedQueueDisc::FORCED_DROP);
    }

    void Warm()
    {
        Count();
        warm = true;
        marksBefore = disc->GetStats().nTotalMarkedPackets;
        dropsBefore = disc->GetStats().nTotalDroppedPackets;
        earlyBefore = Early();
    }

    void Print(std::ostream& out)
    {
        Count();
        auto early = Early() - earlyBefore;
        out << "{\"packets_out\":" << packets << ",\"bytes_out\":" << bytes
            << ",\"marks\":" << disc->GetStats().nTotalMarkedPackets - marksBefore
            << ",\"drops_full\":" << disc->GetStats().nTotalDroppedPackets - dropsBefore - early
            << ",\"drops_aqm\":" << early
            << ",\"drops_device\":" << device->GetQueue()->GetTotalDroppedPackets() << ",\"waiting_ps\":[";
        for (size_t i = 0; i < timePs.size(); i++)
            out << (i ? "," : "") << timePs[i];
        out << "]}";
    }
};
