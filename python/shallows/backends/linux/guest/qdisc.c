/* Queue disciplines over netlink: samples and counts. */
#define _GNU_SOURCE
#include "guest.h"
#include "netlink.h"

#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

/* Of DualPI2's statistics (struct tc_dualpi2_xstats), which older headers do not have. */
enum { DUALPI2_ECN_MARK = 6 };

struct reading {
	uint64_t bytes;
	uint32_t packets, length, backlog, drops, full, marks;
};

/* A discipline of a device: a port's own, or that of the wire behind it. */
struct place {
	int node; /* -1: none */
	uint32_t device, handle;
	char kind[16];
	struct reading at_warmup, last;
	int gone; /* a program has removed it */
	uint32_t drops_before; /* of earlier wires at this place, with the packets that were on them as they ended */
};

struct queue {
	struct place port, wire, meter; /* the meter drops before the port's discipline, and counts what that drops too */
	int sampled, traced;
};

struct sample {
	nanoseconds at;
	uint32_t queue, packets, bytes;
};

static struct queue *queues;
static size_t queue_count;
static struct sample *samples;
static size_t sample_count;
static FILE *trace;

/* Places that are read together, in the order of their nodes. */
struct set {
	struct place **places;
	size_t count;
};

static struct set sampled, traced, all;

static struct place place_of(int node, const char *device, uint32_t handle)
{
	struct place made = { .node = node, .handle = handle };

	if (node < 0)
		return made;
	enter(node);
	made.device = if_nametoindex(device);
	if (!made.device)
		fail("there is no device %s", device);
	return made;
}

/* queue NODE DEVICE HANDLE SAMPLED TRACED NODE_OF_WIRE DEVICE_OF_WIRE [METER]; the wire's are -1 and a word where it loses
 * nothing, and METER is the handle of a discipline that polices. */
void add_queue(char *words)
{
	char device[IFNAMSIZ], wire[IFNAMSIZ];
	struct queue queue = { 0 };
	unsigned handle, meter;
	int node, far, given;

	given = sscanf(words, "%d %15s %x %d %d %d %15s %x", &node, device, &handle, &queue.sampled, &queue.traced, &far, wire,
		       &meter);
	if (given < 7)
		fail("queue: %s", words);
	queue.meter = place_of(given > 7 ? node : -1, device, given > 7 ? meter : 0);
	queue.port = place_of(node, device, handle);
	queue.wire = place_of(far, wire, 1 << 16);
	ROOM(queues, queue_count);
	queues[queue_count++] = queue;
}

static void put_place(struct set *set, struct place *place)
{
	if (place->node < 0)
		return;
	ROOM(set->places, set->count);
	set->places[set->count++] = place;
}

static int by_node(const void *a, const void *b)
{
	const struct place *x = *(struct place *const *)a, *y = *(struct place *const *)b;
	int order = (x->node > y->node) - (x->node < y->node);

	return order ? order : (x > y) - (x < y);
}

void queues_start(void)
{
	struct set *const sets[] = { &sampled, &traced, &all };

	for (size_t i = 0; i < queue_count; i++) {
		struct queue *queue = &queues[i];

		if (queue->sampled)
			put_place(&sampled, &queue->port);
		if (queue->traced) {
			put_place(&traced, &queue->port);
			put_place(&traced, &queue->wire);
			put_place(&traced, &queue->meter);
		}
		put_place(&all, &queue->port);
		put_place(&all, &queue->wire);
		put_place(&all, &queue->meter);
	}
	for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
		if (sets[i]->count)
			qsort(sets[i]->places, sets[i]->count, sizeof *sets[i]->places, by_node);
	trace = output("ports.csv");
	fprintf(trace, "time_ns,queue,packets,bytes,length,backlog,drops,marks,lost\n");
}

static uint32_t larger(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* Marks, and drops for want of room, from a discipline's own statistics. */
static void own_counts(const char *kind, const void *stats, size_t size, struct reading *reading)
{
	if (!strcmp(kind, "red") && size >= sizeof(struct tc_red_xstats)) {
		const struct tc_red_xstats *red = stats;

		reading->marks = red->marked;
		reading->full = red->pdrop;
	} else if (!strcmp(kind, "codel") && size >= sizeof(struct tc_codel_xstats)) {
		const struct tc_codel_xstats *codel = stats;

		/* A packet may be counted by both; with a ce_threshold up to the target one contains the other. */
		reading->marks = larger(codel->ecn_mark, codel->ce_mark);
		reading->full = codel->drop_overlimit;
	} else if (!strcmp(kind, "fq_codel") && size >= sizeof(struct tc_fq_codel_xstats)) {
		const struct tc_fq_codel_qd_stats *codel = &((const struct tc_fq_codel_xstats *)stats)->qdisc_stats;

		reading->marks = larger(codel->ecn_mark, codel->ce_mark);
		reading->full = codel->drop_overlimit;
	} else if (!strcmp(kind, "pie") && size >= sizeof(struct tc_pie_xstats)) {
		const struct tc_pie_xstats *pie = stats;

		reading->marks = pie->ecn_mark;
		reading->full = pie->overlimit;
	} else if (!strcmp(kind, "dualpi2") && size > DUALPI2_ECN_MARK * sizeof(uint32_t))
		reading->marks = ((const uint32_t *)stats)[DUALPI2_ECN_MARK]; /* of both queues, with those by the step */
}

static void take(struct place *place, struct rtattr *outer, int left)
{
	struct reading *reading = &place->last;

	for (; RTA_OK(outer, left); outer = RTA_NEXT(outer, left)) {
		if (outer->rta_type == TCA_KIND)
			snprintf(place->kind, sizeof place->kind, "%s", (char *)RTA_DATA(outer));
		if ((outer->rta_type & NLA_TYPE_MASK) != TCA_STATS2)
			continue;
		struct rtattr *inner = RTA_DATA(outer);
		int within = RTA_PAYLOAD(outer);
		for (; RTA_OK(inner, within); inner = RTA_NEXT(inner, within)) {
			void *data = RTA_DATA(inner);

			if (inner->rta_type == TCA_STATS_BASIC) {
				memcpy(&reading->bytes, data, sizeof reading->bytes);
				reading->packets = ((struct gnet_stats_basic *)data)->packets;
			} else if (inner->rta_type == TCA_STATS_QUEUE) {
				struct gnet_stats_queue *stats = data;

				reading->length = stats->qlen;
				reading->backlog = stats->backlog;
				reading->drops = stats->drops + place->drops_before;
			} else if (inner->rta_type == TCA_STATS_APP)
				own_counts(place->kind, data, RTA_PAYLOAD(inner), reading);
		}
	}
}

static void took(struct place *place, const struct look *look)
{
	if (look->first)
		take(place, look->first, look->left);
	else if (programs_any())
		place->gone = 1;
	else
		fail("no qdisc %x of device %u", look->handle, look->device);
}

/* Reads all of a set. Places of one node are asked for together: a call takes longer than its answer. */
static void read_set(const struct set *set)
{
	size_t count;

	for (size_t first = 0; first < set->count; first += count) {
		struct look looks[MOST_LOOKS];
		int node = set->places[first]->node;

		for (count = 0; count < MOST_LOOKS && first + count < set->count; count++) {
			struct place *place = set->places[first + count];

			if (place->node != node)
				break;
			looks[count] = (struct look){ .device = place->device, .handle = place->handle };
		}
		look_at(node, looks, count);
		for (size_t i = 0; i < count; i++)
			took(set->places[first + i], &looks[i]);
	}
}

void wire_ends(int node, const char *device)
{
	enter(node);
	unsigned index = if_nametoindex(device);

	for (size_t i = 0; i < queue_count; i++) {
		struct place *wire = &queues[i].wire;
		struct look look = { .device = wire->device, .handle = wire->handle };

		if (wire->node != node || wire->device != index)
			continue;
		look_at(node, &look, 1);
		took(wire, &look);
		wire->drops_before = wire->last.drops + wire->last.length;
	}
}

void sample_queues(nanoseconds at)
{
	read_set(&sampled);
	for (size_t i = 0; i < queue_count; i++) {
		struct reading *last = &queues[i].port.last;

		if (!queues[i].sampled || queues[i].port.gone)
			continue;
		ROOM(samples, sample_count);
		samples[sample_count++] = (struct sample){ at, i, last->length, last->backlog };
	}
}

void trace_ports(nanoseconds at)
{
	read_set(&traced);
	for (size_t i = 0; i < queue_count; i++) {
		struct reading *last = &queues[i].port.last;

		if (!queues[i].traced || queues[i].port.gone)
			continue;
		fprintf(trace, "%lld,%zu,%u,%llu,%u,%u,%u,%u,%u\n", (long long)at, i, last->packets,
			(unsigned long long)last->bytes, last->length, last->backlog,
			queues[i].meter.node < 0 ? last->drops : queues[i].meter.last.drops, last->marks,
			queues[i].wire.last.drops);
	}
}

/* Counts at the end of the warm-up, and called again the counts at the end. */
void count_queues(void)
{
	static int warm;

	read_set(&all);
	for (size_t i = 0; i < all.count && !warm; i++)
		all.places[i]->at_warmup = all.places[i]->last;
	warm = 1;
}

/* Disciplines that drop for want of room alone. */
static int drops_when_full(const char *kind)
{
	return !strcmp(kind, "pfifo") || !strcmp(kind, "bfifo") || !strcmp(kind, "fq");
}

void write_queues(void)
{
	FILE *file = output("queues.csv");

	fprintf(file, "packets_before,bytes_before,drops_before,full_before,marks_before,lost_before,"
		      "packets,bytes,drops,full,marks,held,held_bytes,lost,gone\n");
	for (size_t i = 0; i < queue_count; i++) {
		struct reading *b = &queues[i].port.at_warmup, *e = &queues[i].port.last;

		if (drops_when_full(queues[i].port.kind)) {
			b->full = b->drops;
			e->full = e->drops;
		}
		if (queues[i].meter.node >= 0) {
			b->drops = queues[i].meter.at_warmup.drops;
			e->drops = queues[i].meter.last.drops;
		}
		fprintf(file, "%u,%llu,%u,%u,%u,%u,", b->packets, (unsigned long long)b->bytes, b->drops, b->full, b->marks,
			queues[i].wire.at_warmup.drops);
		fprintf(file, "%u,%llu,%u,%u,%u,%u,%u,%u,%d\n", e->packets, (unsigned long long)e->bytes, e->drops, e->full,
			e->marks, e->length, e->backlog, queues[i].wire.last.drops, queues[i].port.gone | queues[i].wire.gone);
	}
	done(file);
	done(trace);
	file = output("samples.csv");
	fprintf(file, "time_ns,queue,packets,bytes\n");
	for (size_t i = 0; i < sample_count; i++)
		fprintf(file, "%lld,%u,%u,%u\n", (long long)samples[i].at, samples[i].queue, samples[i].packets,
			samples[i].bytes);
	done(file);
}
