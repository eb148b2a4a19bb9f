/* A ring all-reduce of a program: each rank sends a part to the next one as soon as a part has come from the one before.
 *
 *     cargo build --release --package shallows-c
 *     cc -I crates/c crates/c/examples/ring.c -o ring -L target/release -lshallows -Wl,-rpath,target/release
 *     ./ring
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "shallows.h"

#define BYTES 1000000 /* of the whole operation */

static const char *EXPERIMENT =
    "duration = '100ms'\n"
    "topology = { kind = 'star', senders = 7, rate = '100Gbps', delay = '500ns' }\n"
    "queue = { kind = 'threshold', limit = '1MB', mark_at = '100KB' }\n"
    "transport = { profile = 'roce', cc = 'dcqcn' }\n";

struct rank {
    shallows *net;
    uint32_t number, ranks, step;
    uint64_t ended;
};

static void check(const struct rank *rank, int code)
{
    if (code != SHALLOWS_DONE) {
        fprintf(stderr, "%s\n", shallows_error(rank->net));
        exit(1);
    }
}

static void next(void *argument)
{
    struct rank *rank = argument;
    uint64_t part = BYTES / rank->ranks;
    uint32_t after = (rank->number + 1) % rank->ranks, before = (rank->number + rank->ranks - 1) % rank->ranks;
    if (rank->step == 2 * (rank->ranks - 1)) {
        rank->ended = shallows_now(rank->net);
        return;
    }
    check(rank, shallows_send(rank->net, rank->number, after, part, rank->step, NULL, NULL));
    check(rank, shallows_recv(rank->net, rank->number, before, part, rank->step, next, rank));
    rank->step++;
}

int main(void)
{
    char error[4000];
    shallows *net = shallows_new(EXPERIMENT, error, sizeof error);
    if (!net) {
        fprintf(stderr, "%s\n", error);
        return 1;
    }
    uint32_t ranks = shallows_hosts(net);
    struct rank *all = calloc(ranks, sizeof *all);
    for (uint32_t i = 0; i < ranks; i++) {
        all[i] = (struct rank){.net = net, .number = i, .ranks = ranks};
        check(&all[i], shallows_schedule(net, 0, next, &all[i]));
    }
    int code = shallows_run(net, UINT64_MAX);
    if (code != SHALLOWS_DONE) {
        fprintf(stderr, "%s: %" PRIu64 " messages are under way\n", code < 0 ? shallows_error(net) : "the run is over",
                shallows_under_way(net));
        return 1;
    }
    uint64_t last = 0;
    for (uint32_t i = 0; i < ranks; i++)
        last = all[i].ended > last ? all[i].ended : last;
    printf("%u ranks, %d bytes: %.3f us\n%s\n%s\n", ranks, BYTES, last / 1e6, shallows_counts(net),
           shallows_tables_hash(net));
    free(all);
    shallows_free(net);
    return 0;
}
