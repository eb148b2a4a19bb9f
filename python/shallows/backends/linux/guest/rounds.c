/* Incast: rounds of a request to each worker, a response from each, and a barrier. */
#include "guest.h"

#include <string.h>

struct worker {
	int load, host, asks, answers;
};

struct load {
	int number, aggregator, control, fresh;
	long long response, request, rounds, gap, jitter;
	size_t first, workers; /* places in `workers` */
	nanoseconds next, started;
	long done, outstanding, timeouts_before;
	uint64_t random;
};

struct due {
	nanoseconds at;
	int worker;
};

struct round {
	int load;
	long round, timeouts;
	nanoseconds from, to;
};

static struct worker *workers;
static size_t worker_count;
static struct load *loads;
static size_t load_count;
static struct due *dues; /* unsorted: few, and all of one round */
static size_t due_count;
static struct round *rounds;
static size_t round_count;

/* A tag is twice the worker's number, and one more for a response. */

void add_rounds(char *words) /* LOAD AGGREGATOR CONTROL RESPONSE REQUEST ROUNDS START GAP JITTER FRESH */
{
	struct load load = { 0 };
	long long start;

	if (sscanf(words, "%d %d %d %lld %lld %lld %lld %lld %lld %d", &load.number, &load.aggregator, &load.control,
		   &load.response, &load.request, &load.rounds, &start, &load.gap, &load.jitter, &load.fresh) != 10)
		fail("rounds: %s", words);
	expect_connections(load.aggregator);
	load.first = worker_count;
	load.next = start;
	load.random = seed * 0x9e3779b97f4a7c15ULL + load.number + 1;
	ROOM(loads, load_count);
	loads[load_count++] = load;
}

void add_worker(char *words) /* HOST, of the load named last */
{
	int host;

	if (!load_count || sscanf(words, "%d", &host) != 1)
		fail("worker: %s", words);
	expect_connections(host);
	ROOM(workers, worker_count);
	workers[worker_count++] = (struct worker){ load_count - 1, host, -1, -1 };
	loads[load_count - 1].workers++;
}

/* Xorshift64*, Vigna 2016. */
static nanoseconds below(struct load *load, nanoseconds limit)
{
	load->random ^= load->random >> 12;
	load->random ^= load->random << 25;
	load->random ^= load->random >> 27;
	return limit ? (nanoseconds)((load->random * 0x2545f4914f6cdd1dULL >> 1) % limit) : 0;
}

nanoseconds rounds_due(void)
{
	nanoseconds first = NEVER;

	for (size_t i = 0; i < load_count; i++)
		first = loads[i].next < first ? loads[i].next : first;
	for (size_t i = 0; i < due_count; i++)
		first = dues[i].at < first ? dues[i].at : first;
	return first;
}

static void dispatch(int number, int answer)
{
	struct worker *worker = &workers[number];
	struct load *load = &loads[worker->load];
	int *flow = answer ? &worker->answers : &worker->asks;
	int from = answer ? worker->host : load->aggregator, to = answer ? load->aggregator : worker->host;

	if (*flow < 0 || load->fresh)
		*flow = open_connection(load->number, from, to, load->control, now() - began);
	send_message(*flow, answer ? load->response : load->request, 2 * number + answer);
}

void rounds_wake(nanoseconds at)
{
	for (size_t i = 0; i < load_count; i++) {
		struct load *load = &loads[i];

		if (load->next > at)
			continue;
		load->started = load->next;
		load->next = NEVER;
		load->outstanding = load->workers;
		load->timeouts_before = timeouts_of_load(load->number);
		for (size_t w = 0; w < load->workers; w++) {
			ROOM(dues, due_count);
			dues[due_count++] = (struct due){ load->started + below(load, load->jitter), load->first + w };
		}
	}
	for (size_t i = 0; i < due_count;) {
		if (dues[i].at > at) {
			i++;
			continue;
		}
		int worker = dues[i].worker;

		memmove(&dues[i], &dues[i + 1], (--due_count - i) * sizeof *dues);
		dispatch(worker, 0);
	}
}

void rounds_delivered(int tag, nanoseconds at, int connection)
{
	struct load *load = &loads[workers[tag / 2].load];

	(void)connection;
	if (tag % 2 == 0) {
		dispatch(tag / 2, 1);
		return;
	}
	if (--load->outstanding)
		return;
	long timeouts = timeouts_of_load(load->number);

	ROOM(rounds, round_count);
	rounds[round_count++] = (struct round){ load->number, load->done, timeouts < 0 ? -1 : timeouts - load->timeouts_before,
						load->started, at };
	load->done++;
	if (!load->rounds || load->done < load->rounds)
		load->next = at + load->gap;
}

void rounds_write(void)
{
	FILE *file = output("rounds.csv");

	fprintf(file, "load,round,responses,bytes,start_ns,end_ns,timeouts\n");
	for (size_t i = 0; i < round_count; i++) {
		struct load *load = loads;

		while (load->number != rounds[i].load)
			load++;
		fprintf(file, "%d,%ld,%zu,%lld,%lld,%lld,%ld\n", load->number, rounds[i].round, load->workers,
			load->response * (long long)load->workers, (long long)rounds[i].from, (long long)rounds[i].to,
			rounds[i].timeouts);
	}
	done(file);
}
