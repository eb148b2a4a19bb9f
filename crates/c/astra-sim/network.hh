/* ASTRA-sim's network interface over libshallows: an Endpoint for each rank, and the Fabric that all of them share.
 *
 * Source: astra-sim/common/AstraNetworkAPI.hh of ASTRA-sim 518bd51. Rank i is host i of the network.
 * The function of a send is called when the message has arrived, and before that of its receive, as with the analytical
 * backend of ASTRA-sim. A receive matches a message of the same ends, tag and number of bytes.
 * Left out: the dimensions of a network. get_BW_at_dimension returns the rate of the rank's links for each of them.
 */
#ifndef SHALLOWS_ASTRA_SIM_NETWORK_HH
#define SHALLOWS_ASTRA_SIM_NETWORK_HH

#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "astra-sim/common/AstraNetworkAPI.hh"
#include "shallows.h"

namespace shallows_astra {

/* A network, and what its ranks have in common. */
struct Fabric {
    static constexpr uint64_t UNFINISHED = UINT64_MAX;

    Fabric(shallows *net, int ranks) : net(net), finished(ranks, UNFINISHED) {}

    /* Keeps the first error. ASTRA-sim does not look at what sim_send and sim_recv return. */
    int checked(int code)
    {
        if (code != SHALLOWS_DONE && fault.empty())
            fault = shallows_error(net);
        return code;
    }

    /* The tag of libshallows for a tag and a number of bytes, since a receive of another number of bytes is another one. */
    uint64_t tag_of(int tag, uint64_t bytes)
    {
        return tags.emplace(std::make_pair(tag, bytes), tags.size()).first->second;
    }

    int unfinished() const
    {
        int count = 0;
        for (uint64_t at : finished)
            count += at == UNFINISHED;
        return count;
    }

    shallows *net;
    std::map<std::pair<int, uint64_t>, uint64_t> tags;
    std::vector<uint64_t> finished; /* the time in ps at which each rank's workload ended first */
    std::string fault;
};

/* A time of ASTRA-sim in ps, to the nearest one. */
inline uint64_t in_ps(AstraSim::timespec_t time)
{
    long double ps = 1;
    switch (time.time_res) {
    case AstraSim::SE: ps = 1e12L; break;
    case AstraSim::MS: ps = 1e9L; break;
    case AstraSim::US: ps = 1e6L; break;
    case AstraSim::NS: ps = 1e3L; break;
    case AstraSim::FS: ps = 1e-3L; break;
    }
    return time.time_val <= 0 ? 0 : static_cast<uint64_t>(std::llround(time.time_val * ps));
}

/* The network as a rank sees it. */
class Endpoint : public AstraSim::AstraNetworkAPI {
  public:
    Endpoint(Fabric &fabric, int rank) : AstraSim::AstraNetworkAPI(rank), fabric(fabric) {}

    int sim_send(void *, uint64_t count, int, int dst, int tag, AstraSim::sim_request *, void (*msg_handler)(void *),
                 void *fun_arg) override
    {
        return fabric.checked(
            shallows_send(fabric.net, sim_comm_get_rank(), dst, count, fabric.tag_of(tag, count), msg_handler, fun_arg));
    }

    int sim_recv(void *, uint64_t count, int, int src, int tag, AstraSim::sim_request *, void (*msg_handler)(void *),
                 void *fun_arg) override
    {
        return fabric.checked(
            shallows_recv(fabric.net, sim_comm_get_rank(), src, count, fabric.tag_of(tag, count), msg_handler, fun_arg));
    }

    void sim_schedule(AstraSim::timespec_t delta, void (*fun_ptr)(void *), void *fun_arg) override
    {
        fabric.checked(shallows_schedule(fabric.net, in_ps(delta), fun_ptr, fun_arg));
    }

    /* In ns with three decimals. ASTRA-sim's own ticks are whole ns: the time without its decimals. */
    AstraSim::timespec_t sim_get_time() override
    {
        return {AstraSim::NS, shallows_now(fabric.net) / 1000.0L};
    }

    /* In GB/s of 2^30 bytes, as the analytical backend counts. */
    double get_BW_at_dimension(int) override
    {
        return shallows_host_rate(fabric.net, sim_comm_get_rank()) / 8.0 / (1 << 30);
    }

    void sim_notify_finished() override
    {
        uint64_t &at = fabric.finished[sim_comm_get_rank()];
        if (at == Fabric::UNFINISHED)
            at = shallows_now(fabric.net);
    }

  private:
    Fabric &fabric;
};

} // namespace shallows_astra

#endif
