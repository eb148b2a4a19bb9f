/* A stand-in for ASTRA-sim's header of the same path: the parts of its network interface that network.hh uses.
 *
 * Written for the tests from the interface's names and types (ASTRA-sim 518bd51), so that they need no ASTRA-sim.
 */
#ifndef STAND_IN_ASTRA_NETWORK_API_HH
#define STAND_IN_ASTRA_NETWORK_API_HH

#include <cstdint>

namespace AstraSim {

enum time_type_e { SE, MS, US, NS, FS };

struct timespec_t {
    time_type_e time_res;
    long double time_val;
};

struct sim_request;

struct AstraNetworkAPI {
    using Handler = void (*)(void *);

    explicit AstraNetworkAPI(int rank) : rank(rank) {}
    virtual ~AstraNetworkAPI() = default;

    virtual int sim_send(void *, uint64_t, int, int, int, sim_request *, Handler, void *) = 0;
    virtual int sim_recv(void *, uint64_t, int, int, int, sim_request *, Handler, void *) = 0;
    virtual void sim_schedule(timespec_t, Handler, void *) = 0;
    virtual timespec_t sim_get_time() = 0;
    virtual int sim_comm_get_rank() { return rank; }
    virtual int sim_comm_set_rank(int other) { return rank = other; }
    virtual double get_BW_at_dimension(int) { return -1; }
    virtual void sim_notify_finished() {}

    int rank;
};

} // namespace AstraSim

#endif
