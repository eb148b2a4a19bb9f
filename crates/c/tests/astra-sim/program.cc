/* What the tests do with the network interface: a ring all-gather of four ranks, then calls whose outcome is known.
 *
 * Prints a name and a number a line. The first argument is the text of an experiment.
 */
#include <cinttypes>
#include <cstdio>
#include <memory>
#include <vector>

#include "network.hh"

using AstraSim::timespec_t;

static const int RANKS = 4;
static const uint64_t BYTES = 5000;

struct Rank {
    shallows_astra::Endpoint *at;
    int number, step;
};

static void sent(void *) {}

static void next(void *argument)
{
    Rank *rank = static_cast<Rank *>(argument);
    if (rank->step++ == RANKS - 1) {
        rank->at->sim_notify_finished();
        return;
    }
    rank->at->sim_send(nullptr, BYTES, 0, (rank->number + 1) % RANKS, 7, nullptr, sent, nullptr);
    rank->at->sim_recv(nullptr, BYTES, 0, (rank->number + RANKS - 1) % RANKS, 7, nullptr, next, rank);
}

struct Note {
    shallows_astra::Endpoint *at;
    const char *name;
};

static void note(void *argument)
{
    Note *note = static_cast<Note *>(argument);
    timespec_t now = note->at->sim_get_time();
    std::printf("%s %.3Lf\n", note->name, now.time_res == AstraSim::NS ? now.time_val : -1);
}

int main(int, char **argv)
{
    char error[2000];
    shallows *net = shallows_new(argv[1], error, sizeof error);
    if (!net) {
        std::printf("%s\n", error);
        return 1;
    }
    shallows_astra::Fabric fabric(net, RANKS);
    std::vector<std::unique_ptr<shallows_astra::Endpoint>> ends;
    std::vector<Rank> ranks;
    for (int i = 0; i < RANKS; i++) {
        ends.push_back(std::make_unique<shallows_astra::Endpoint>(fabric, i));
        ranks.push_back({ends[i].get(), i, 0});
    }
    for (Rank &rank : ranks)
        next(&rank);
    std::printf("unfinished %d\n", fabric.unfinished());
    int code = shallows_run(net, UINT64_MAX);
    std::printf("run %d\nunfinished %d\n", code, fabric.unfinished());
    for (uint64_t at : fabric.finished)
        std::printf("finished %" PRIu64 "\n", at);
    std::printf("bandwidth %.9f\n", ends[0]->get_BW_at_dimension(0));

    /* Equal tags of other sizes, the receives in the other order; and one that comes when its message has arrived. */
    Note notes[] = {{ends[0].get(), "small"}, {ends[0].get(), "large"}, {ends[0].get(), "scheduled"}};
    timespec_t times[] = {{AstraSim::MS, 1}, {AstraSim::US, 2}, {AstraSim::NS, 3.25L}, {AstraSim::FS, 600}, {AstraSim::SE, 0}};
    uint64_t began = shallows_now(net);
    ends[1]->sim_recv(nullptr, 2000, 0, 0, 7, nullptr, note, &notes[1]);
    ends[1]->sim_recv(nullptr, 1000, 0, 0, 7, nullptr, note, &notes[0]);
    ends[0]->sim_send(nullptr, 1000, 0, 1, 7, nullptr, sent, nullptr);
    ends[0]->sim_send(nullptr, 2000, 0, 1, 7, nullptr, sent, nullptr);
    std::printf("began %" PRIu64 "\n", began);
    shallows_run(net, UINT64_MAX);
    for (const timespec_t &time : times)
        ends[0]->sim_schedule(time, note, &notes[2]);
    std::printf("began %" PRIu64 "\n", shallows_now(net));
    shallows_run(net, UINT64_MAX);
    std::printf("rank %d\n", ends[2]->sim_comm_get_rank());

    /* The first error stays. */
    ends[2]->sim_send(nullptr, 1, 0, 2, 0, nullptr, sent, nullptr);
    ends[2]->sim_send(nullptr, 1, 0, 99, 0, nullptr, sent, nullptr);
    std::printf("%s\n", fabric.fault.c_str());
    shallows_free(net);
    return 0;
}
