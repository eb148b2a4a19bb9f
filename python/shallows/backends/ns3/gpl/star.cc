// SPDX-License-Identifier: GPL-2.0-only
// A cell of ./shallows validate on ns-3: senders with fast links, one bottleneck, one receiver. One JSON document
// on standard output.
//
// Where ns-3 is set otherwise than by its defaults:
// - PPP adds 2 bytes to each packet, so that links are faster by 1502/1500: a full packet takes the time that 1500 bytes
//   take on the other backends.
// - The bottleneck's device holds one packet besides the one it sends; all others wait in the queue disc. Both are
//   counted as waiting. Thresholds and limits given are the disc's own, that one packet lower.
// - Senders' devices hold all that is sent, without a queue disc, as the simulator's NICs do.
// - Time counts picoseconds: a packet takes 1200.0 ns at 10 Gb/s, 120.0 ns at 100 Gb/s.
#include "flow.h"
#include "port.h"

#include "ns3/network-module.h"

#include <ctime>
#include <sstream>

struct Star
{
    NodeContainer senders, core, receiver;
    std::vector<Ipv4Address> addresses;
    Ipv4Address receiverAddress;
    Port port;
    std::vector<Flow> flows, asks; // answers or bulk; requests
    Listener answers, requests;
    Ptr<UniformRandomVariable> random = CreateObject<UniformRandomVariable>();
    std::vector<uint64_t> starts;
    std::vector<std::pair<uint64_t, uint64_t>> rounds;
    std::vector<uint64_t> answered;
    uint32_t missing = 0;

    Star()
    {
        std::istringstream words(arguments.starts);
        for (std::string word; std::getline(words, word, ',');)
            starts.push_back(std::stoull(word));
        Build();
        flows.resize(starts.size());
        asks.resize(arguments.rounds ? starts.size() : 0);
        answered.resize(starts.size());
        answers.heard = [this](uint32_t flow, uint32_t bytes) { Heard(flow, bytes); };
        answers.Listen(receiver.Get(0), 5000);
        requests.heard = [this](uint32_t flow, uint32_t bytes) { Asked(flow, bytes); };
        for (uint32_t i = 0; i < starts.size(); i++)
        {
            flows[i].number = i;
            flows[i].endless = !arguments.rounds;
            Simulator::ScheduleWithContext(senders.Get(i)->GetId(), NanoSeconds(starts[i]), [this, i] {
                flows[i].Open(senders.Get(i), receiverAddress, 5000);
            });
            if (!arguments.rounds)
                continue;
            asks[i].number = i;
            requests.Listen(senders.Get(i), 5001);
            Simulator::ScheduleWithContext(receiver.Get(0)->GetId(), NanoSeconds(starts[i]), [this, i] {
                asks[i].Open(receiver.Get(0), addresses[i], 5001);
            });
        }
        Simulator::Schedule(NanoSeconds(arguments.warmupNs), &Star::Warm, this);
        if (arguments.rounds)
            Simulator::Schedule(NanoSeconds(arguments.firstNs), &Star::Round, this);
    }

    void Build()
    {
        auto device_rate = [](uint64_t rate) { return DataRate((rate * (PACKET + PPP) + PACKET / 2) / PACKET); };
        senders.Create(starts.size());
        core.Create(1);
        receiver.Create(1);
        PointToPointHelper link;
        link.SetChannelAttribute("Delay", TimeValue(NanoSeconds(arguments.delayNs)));
        link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1000000p"));
        link.SetDeviceAttribute("DataRate", DataRateValue(device_rate(arguments.senderRate)));
        std::vector<NetDeviceContainer> links;
        for (uint32_t i = 0; i < starts.size(); i++)
            links.push_back(link.Install(senders.Get(i), core.Get(0)));
        link.SetDeviceAttribute("DataRate", DataRateValue(device_rate(arguments.rate)));
        links.push_back(link.Install(core.Get(0), receiver.Get(0)));
        InternetStackHelper().InstallAll();
        port.device = DynamicCast<PointToPointNetDevice>(links.back().Get(0));
        port.device->GetQueue()->SetMaxSize(QueueSize("1p"));
        port.disc = Disc(port.device);
        port.Attach();
        Ipv4AddressHelper address("10.0.0.0", "255.255.255.0");
        for (auto& devices : links)
        {
            auto found = address.Assign(devices);
            address.NewNetwork();
            addresses.push_back(found.GetAddress(0));
            receiverAddress = found.GetAddress(1);
            for (uint32_t end = 0; end < 2; end++)
                if (devices.Get(end) != port.device)
                    TrafficControlHelper().Uninstall(devices.Get(end));
        }
        Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    }

    Ptr<QueueDisc> Disc(Ptr<NetDevice> device)
    {
        const auto& a = arguments;
        TrafficControlHelper helper;
        if (a.disc == "fifo")
            helper.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", StringValue(a.limit));
        else // Wait: Linux draws a number once a mark and not a packet; a link of 1 bit/s: its average does not decay
            helper.SetRootQueueDisc("ns3::RedQueueDisc", "MaxSize", StringValue(a.limit),
                                    "MinTh", DoubleValue(a.redMin), "MaxTh", DoubleValue(a.redMax),
                                    "QW", DoubleValue(a.redWeight), "LInterm", DoubleValue(1 / a.redProbability),
                                    "Gentle", BooleanValue(false), "Wait", BooleanValue(false),
                                    "UseEcn", BooleanValue(a.redEcn),
                                    "UseHardDrop", BooleanValue(false), "MeanPktSize", UintegerValue(PACKET),
                                    "LinkBandwidth", StringValue("1bps"));
        return helper.Install(device).Get(0);
    }

    void Warm()
    {
        port.Warm();
        for (auto& flow : flows)
            flow.before = flow.counts;
    }

    void Heard(uint32_t flow, uint32_t bytes)
    {
        flows[flow].counts.received += bytes;
        if (!arguments.rounds || answered[flow] >= arguments.response)
            return;
        answered[flow] += bytes;
        if (answered[flow] < arguments.response || --missing > 0)
            return;
        rounds.back().second = Clock();
        if (rounds.size() < arguments.rounds)
            Simulator::Schedule(NanoSeconds(arguments.gapNs), &Star::Round, this);
    }

    void Asked(uint32_t flow, uint32_t bytes)
    {
        asks[flow].counts.received += bytes;
        if (asks[flow].counts.received % arguments.request == 0)
            flows[flow].Write(arguments.response);
    }

    void Round()
    {
        rounds.emplace_back(Clock(), 0);
        missing = flows.size();
        std::fill(answered.begin(), answered.end(), 0);
        for (auto& ask : asks)
            Simulator::Schedule(NanoSeconds(random->GetValue() * arguments.jitterNs), &Flow::Write, &ask,
                                arguments.request);
    }

    void Print(std::ostream& out)
    {
        out << "{\"port\":";
        port.Print(out);
        out << ",\"flows\":[";
        for (size_t i = 0; i < flows.size(); i++)
        {
            out << (i ? "," : "");
            flows[i].Print(out);
        }
        out << "],\"rounds\":[";
        for (size_t i = 0; i < rounds.size(); i++)
            out << (i ? "," : "") << "[" << rounds[i].first << "," << rounds[i].second << "]";
        out << "],\"events\":" << Simulator::GetEventCount()
            << ",\"cpu_s\":" << double(std::clock()) / CLOCKS_PER_SEC << "}\n";
    }
};

int main(int count, char** words)
{
    Time::SetResolution(Time::PS);
    arguments.Read(count, words);
    Defaults();
    Star star;
    Simulator::Stop(NanoSeconds(arguments.durationNs));
    Simulator::Run();
    star.Print(std::cout);
    Simulator::Destroy();
}
