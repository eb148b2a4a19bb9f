// SPDX-License-Identifier: GPL-2.0-only
// A network of tools/peers.py on ns-3: hosts, switches, given routes, and flows of given sizes. One JSON document on
// standard output. It links ns-3, and so has ns-3's licence (python/shallows/backends/ns3/gpl/LICENSE).
//
// Standard input, a line each:
//   nodes N HOSTS              the first HOSTS of the N nodes are hosts
//   link A B RATE PS           bit/s each way, and the delay in picoseconds
//   table NODE V0 V1 ...       the neighbour to which NODE sends packets for host 0, 1 ..., or -1
//   flow FROM TO BYTES NS      and when it starts
// Arguments are those of cell.h. With --disc=fifo the limit is the device queue's, and there is no queue disc; with
// --disc=red the disc marks, and the device holds one packet, as in star.cc.
//
// Routes are looked up in an array. The linear search of Ipv4StaticRouting and Ipv4GlobalRouting would be most of the
// time in a large network, and no fair yardstick.
#include "flow.h"

#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <sstream>
#include <sys/resource.h>
#include <unordered_map>

static std::unordered_map<uint32_t, uint32_t> hostOf; // by address

// Forwarding by destination host: the output interface is in an array.
class Table : public Ipv4RoutingProtocol
{
  public:
    std::vector<int32_t> interfaces; // by destination host

    Ptr<Ipv4Route> RouteOutput(Ptr<Packet>, const Ipv4Header& header, Ptr<NetDevice>, Socket::SocketErrno& error) override
    {
        auto route = Route(header.GetDestination());
        error = route ? Socket::ERROR_NOTERROR : Socket::ERROR_NOROUTETOHOST;
        return route;
    }

    bool RouteInput(Ptr<const Packet> packet, const Ipv4Header& header, Ptr<const NetDevice> device,
                    UnicastForwardCallback forward, MulticastForwardCallback, LocalDeliverCallback deliver,
                    ErrorCallback) override
    {
        auto in = m_ipv4->GetInterfaceForDevice(device);
        if (m_ipv4->IsDestinationAddress(header.GetDestination(), in))
        {
            deliver(packet, header, in);
            return true;
        }
        auto route = Route(header.GetDestination());
        if (route)
            forward(route, packet, header);
        return bool(route);
    }

    void NotifyInterfaceUp(uint32_t) override {}
    void NotifyInterfaceDown(uint32_t) override {}
    void NotifyAddAddress(uint32_t, Ipv4InterfaceAddress) override {}
    void NotifyRemoveAddress(uint32_t, Ipv4InterfaceAddress) override {}
    void SetIpv4(Ptr<Ipv4> ipv4) override { m_ipv4 = ipv4; }
    void PrintRoutingTable(Ptr<OutputStreamWrapper>, Time::Unit) const override {}

  private:
    Ptr<Ipv4> m_ipv4;
    std::vector<Ptr<Ipv4Route>> m_routes; // made when first used

    Ptr<Ipv4Route> Route(Ipv4Address to)
    {
        auto host = hostOf.find(to.Get());
        if (host == hostOf.end() || interfaces[host->second] < 0)
            return nullptr;
        m_routes.resize(interfaces.size());
        auto& route = m_routes[host->second];
        if (!route)
        {
            uint32_t out = interfaces[host->second];
            route = Create<Ipv4Route>();
            route->SetDestination(to);
            route->SetGateway(Ipv4Address::GetZero());
            route->SetSource(m_ipv4->GetAddress(out, 0).GetLocal());
            route->SetOutputDevice(m_ipv4->GetNetDevice(out));
        }
        return route;
    }
};

class TableHelper : public Ipv4RoutingHelper
{
  public:
    TableHelper* Copy() const override { return new TableHelper(*this); }
    Ptr<Ipv4RoutingProtocol> Create(Ptr<Node>) const override { return CreateObject<Table>(); }
};

struct Wanted
{
    uint32_t from, to;
    uint64_t bytes, startNs;
};

struct Network
{
    NodeContainer nodes;
    uint32_t hosts = 0;
    std::vector<Ipv4Address> addresses;
    std::vector<std::unordered_map<uint32_t, uint32_t>> interfaceTo; // by node: of each neighbour
    std::vector<Ptr<PointToPointNetDevice>> devices;
    std::vector<Ptr<QueueDisc>> discs;
    std::vector<Wanted> wanted;
    std::vector<Flow> flows;
    std::vector<uint64_t> endPs;
    std::vector<Listener> listeners;
    uint64_t droppedAbove = 0; // by the traffic control layer, which hands a full device nothing

    void Read(std::istream& in)
    {
        Ipv4AddressHelper address("10.0.0.0", "255.255.255.252");
        for (std::string line; std::getline(in, line);)
        {
            std::istringstream words(line);
            std::string what;
            words >> what;
            if (what == "nodes")
            {
                uint32_t count;
                words >> count >> hosts;
                nodes.Create(count);
                interfaceTo.resize(count);
                addresses.resize(hosts);
                InternetStackHelper internet;
                internet.SetRoutingHelper(TableHelper());
                internet.SetIpv6StackInstall(false);
                internet.Install(nodes);
                for (uint32_t node = 0; node < count; node++)
                    nodes.Get(node)->GetObject<TrafficControlLayer>()->TraceConnectWithoutContext(
                        "TcDrop", MakeCallback(&Network::Dropped, this));
            }
            else if (what == "link")
            {
                uint32_t ends[2];
                uint64_t rate, delay;
                words >> ends[0] >> ends[1] >> rate >> delay;
                Link(ends, rate, delay, address);
            }
            else if (what == "table")
            {
                uint32_t node;
                words >> node;
                auto table = DynamicCast<Table>(nodes.Get(node)->GetObject<Ipv4>()->GetRoutingProtocol());
                for (int64_t next; words >> next;)
                    table->interfaces.push_back(next < 0 ? -1 : int32_t(interfaceTo[node].at(next)));
            }
            else if (what == "flow")
            {
                Wanted flow;
                words >> flow.from >> flow.to >> flow.bytes >> flow.startNs;
                wanted.push_back(flow);
            }
        }
    }

    void Link(const uint32_t (&ends)[2], uint64_t rate, uint64_t delayPs, Ipv4AddressHelper& address)
    {
        PointToPointHelper link;
        link.SetChannelAttribute("Delay", TimeValue(PicoSeconds(delayPs)));
        link.SetDeviceAttribute("DataRate", DataRateValue(DataRate((rate * (PACKET + PPP) + PACKET / 2) / PACKET)));
        auto pair = link.Install(nodes.Get(ends[0]), nodes.Get(ends[1]));
        auto given = address.Assign(pair);
        address.NewNetwork();
        for (uint32_t end = 0; end < 2; end++)
        {
            auto device = DynamicCast<PointToPointNetDevice>(pair.Get(end));
            devices.push_back(device);
            interfaceTo[ends[end]][ends[1 - end]] = given.Get(end).second;
            TrafficControlHelper().Uninstall(device);
            bool ofHost = ends[end] < hosts;
            if (ofHost)
            {
                addresses[ends[end]] = given.GetAddress(end);
                hostOf[given.GetAddress(end).Get()] = ends[end];
            }
            bool marks = arguments.disc == "red" && !ofHost;
            device->GetQueue()->SetMaxSize(QueueSize(ofHost ? "1000000p" : marks ? "1p" : arguments.limit));
            if (marks)
                discs.push_back(Disc(device));
        }
    }

    Ptr<QueueDisc> Disc(Ptr<NetDevice> device)
    {
        TrafficControlHelper helper;
        helper.SetRootQueueDisc("ns3::RedQueueDisc", "MaxSize", StringValue(arguments.limit), "MinTh",
                                DoubleValue(arguments.redMin), "MaxTh", DoubleValue(arguments.redMax), "QW",
                                DoubleValue(1), "LInterm", DoubleValue(1), "Gentle", BooleanValue(false), "Wait",
                                BooleanValue(false), "UseEcn", BooleanValue(true), "UseHardDrop", BooleanValue(false),
                                "MeanPktSize", UintegerValue(PACKET), "LinkBandwidth", StringValue("1bps"));
        return helper.Install(device).Get(0);
    }

    void Start()
    {
        flows.resize(wanted.size());
        endPs.assign(wanted.size(), 0);
        listeners.resize(hosts);
        for (uint32_t host = 0; host < hosts; host++)
        {
            listeners[host].heard = [this](uint32_t flow, uint32_t bytes) { Heard(flow, bytes); };
            listeners[host].Listen(nodes.Get(host), 5000);
        }
        for (uint32_t i = 0; i < wanted.size(); i++)
        {
            flows[i].number = i;
            flows[i].Write(wanted[i].bytes); // waits until the connection opens
            Simulator::ScheduleWithContext(wanted[i].from, NanoSeconds(wanted[i].startNs), [this, i] {
                flows[i].Open(nodes.Get(wanted[i].from), addresses[wanted[i].to], 5000);
            });
        }
    }

    void Dropped(Ptr<const Packet>) { droppedAbove++; }

    void Heard(uint32_t flow, uint32_t bytes)
    {
        flows[flow].counts.received += bytes;
        if (flows[flow].counts.received == wanted[flow].bytes)
            endPs[flow] = Clock();
    }

    void Print(std::ostream& out, double buildS, double runS) const
    {
        Counts sum;
        for (const auto& flow : flows)
        {
            sum.sent += flow.counts.sent;
            sum.retransmissions += flow.counts.retransmissions;
            sum.timeouts += flow.counts.timeouts;
        }
        uint64_t hops = 0, drops = droppedAbove, marks = 0;
        for (const auto& device : devices)
        {
            hops += device->GetQueue()->GetTotalReceivedPackets();
            drops += device->GetQueue()->GetTotalDroppedPackets();
        }
        for (const auto& disc : discs)
        {
            drops += disc->GetStats().nTotalDroppedPackets;
            marks += disc->GetStats().nTotalMarkedPackets;
        }
        out << "{\"packets\":" << sum.sent << ",\"hops\":" << hops << ",\"drops\":" << drops
            << ",\"repeats\":" << sum.retransmissions << ",\"timeouts\":" << sum.timeouts << ",\"marks\":" << marks
            << ",\"build_s\":" << buildS << ",\"run_s\":" << runS << ",\"completion_ps\":[";
        for (size_t i = 0; i < endPs.size(); i++)
            out << (i ? "," : "") << (endPs[i] ? int64_t(endPs[i] - flows[i].startPs) : -1);
        out << "]}\n";
    }
};

static double UserSeconds()
{
    rusage used;
    getrusage(RUSAGE_SELF, &used);
    return used.ru_utime.tv_sec + used.ru_utime.tv_usec / 1e6;
}

int main(int count, char** words)
{
    Time::SetResolution(Time::PS);
    arguments.Read(count, words);
    Defaults();
    Network network;
    network.Read(std::cin);
    network.Start();
    double built = UserSeconds();
    Simulator::Stop(NanoSeconds(arguments.durationNs));
    Simulator::Run();
    network.Print(std::cout, built, UserSeconds() - built);
    Simulator::Destroy();
}
