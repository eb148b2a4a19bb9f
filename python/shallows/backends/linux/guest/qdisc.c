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

struct queue {
	int node, netlink;
	uint32_t device, handle;
	char kind[16];
	struct reading at_warmup, last;
};

struct sample {
	nanoseconds at;
	uint32_t queue, packets, bytes;
};

static struct queue *queues;
static size_t queue_count;
static struct sample *samples;
static size_t sample_count;

/* queue NODE DEVICE HANDLE */
void add_queue(char *words)
{
	char device[IFNAMSIZ];
	struct queue queue = { 0 };
	unsigned node, handle;

	if (sscanf(words, "%u %15s %x", &node, device, &handle) != 3)
		fail("queue: %s", words);
	queue.netlink = connect_netlink(node);
	queue.node = node;
	queue.handle = handle;
	queue.device = if_nametoindex(device);
	if (!queue.device)
		fail("there is no device %s", device);
	ROOM(queues, queue_count);
	queues[queue_count++] = queue;
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

static void read_queue(struct queue *queue)
{
	struct reading *reading = &queue->last;
	struct rtattr *outer;
	int left = look(queue->netlink, queue->device, queue->handle, &outer);

	for (; RTA_OK(outer, left); outer = RTA_NEXT(outer, left)) {
		if (outer->rta_type == TCA_KIND)
			snprintf(queue->kind, sizeof queue->kind, "%s", (char *)RTA_DATA(outer));
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
				reading->drops = stats->drops;
			} else if (inner->rta_type == TCA_STATS_APP)
				own_counts(queue->kind, data, RTA_PAYLOAD(inner), reading);
		}
	}
}

void sample_queues(nanoseconds at)
{
	for (size_t i = 0; i < queue_count; i++) {
		read_queue(&queues[i]);
		ROOM(samples, sample_count);
		samples[sample_count++] = (struct sample){ at, i, queues[i].last.length, queues[i].last.backlog };
	}
}

/* Counts at the end of the warm-up, and called again the counts at the end. */
void count_queues(void)
{
	static int warm;

	for (size_t i = 0; i < queue_count; i++) {
		read_queue(&queues[i]);
		if (!warm)
			queues[i].at_warmup = queues[i].last;
	}
	warm = 1;
}

void write_queues(void)
{
	FILE *file = output("queues.csv");

	fprintf(file, "packets_before,bytes_before,drops_before,full_before,marks_before,"
		      "packets,bytes,drops,full,marks,held,held_bytes\n");
	for (size_t i = 0; i < queue_count; i++) {
		struct reading *b = &queues[i].at_warmup, *e = &queues[i].last;

		if (!strcmp(queues[i].kind, "pfifo") || !strcmp(queues[i].kind, "bfifo")) {
			b->full = b->drops;
			e->full = e->drops;
		}
		fprintf(file, "%u,%llu,%u,%u,%u,%u,%llu,%u,%u,%u,%u,%u\n", b->packets, (unsigned long long)b->bytes, b->drops,
			b->full, b->marks, e->packets, (unsigned long long)e->bytes, e->drops, e->full, e->marks, e->length,
			e->backlog);
	}
	done(file);
	file = output("samples.csv");
	fprintf(file, "time_ns,queue,packets,bytes\n");
	for (size_t i = 0; i < sample_count; i++)
		fprintf(file, "%lld,%u,%u,%u\n", (long long)samples[i].at, samples[i].queue, samples[i].packets,
			samples[i].bytes);
	done(file);
}
