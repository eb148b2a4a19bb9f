/* Queue disciplines over netlink: samples, counts, and RED as a step, which tc cannot configure. */
#define _GNU_SOURCE
#include "guest.h"

#include <linux/gen_stats.h>
#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct reading {
	uint64_t bytes;
	uint32_t packets, length, backlog, drops, marks;
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

static int connect_netlink(int node)
{
	struct sockaddr_nl address = { .nl_family = AF_NETLINK };
	int fd;

	enter(node);
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (fd < 0 || bind(fd, (void *)&address, sizeof address))
		fail("netlink");
	return fd;
}

static void put(void *room, int type, const void *data, size_t size)
{
	struct nlmsghdr *message = room;
	struct rtattr *attribute = (void *)((char *)room + NLMSG_ALIGN(message->nlmsg_len));

	attribute->rta_type = type;
	attribute->rta_len = RTA_LENGTH(size);
	if (size)
		memcpy(RTA_DATA(attribute), data, size);
	message->nlmsg_len = NLMSG_ALIGN(message->nlmsg_len) + RTA_ALIGN(attribute->rta_len);
}

/* step NODE DEVICE PARENT HANDLE LIMIT_BYTES THRESHOLD_BYTES ECN
 *
 * RED with W = 1 (Wlog 0), min = max = threshold: the average is the queue that the packet finds, and all at or
 * above the threshold is marked. tc computes Wlog from a burst and never gives 0. */
void add_step(char *words)
{
	char device[IFNAMSIZ];
	unsigned node, parent, handle, limit, threshold, ecn;
	union { struct { struct nlmsghdr head; struct tcmsg tc; }; char room[1024]; } request = { 0 };
	union { struct { struct nlmsghdr head; struct nlmsgerr error; }; char room[1024]; } answer;
	uint8_t decay[256] = { 0 };
	uint32_t probability = UINT32_MAX;
	struct rtattr *options;
	int fd;

	if (sscanf(words, "%u %15s %x %x %u %u %u", &node, device, &parent, &handle, &limit, &threshold, &ecn) != 7)
		fail("step: %s", words);
	fd = connect_netlink(node);
	struct tc_red_qopt red = { .limit = limit, .qth_min = threshold, .qth_max = threshold, .Wlog = 0, .Plog = 31,
				   .Scell_log = 1, .flags = ecn ? TC_RED_ECN : 0 };
	request.head = (struct nlmsghdr){ .nlmsg_len = NLMSG_LENGTH(sizeof(struct tcmsg)), .nlmsg_type = RTM_NEWQDISC,
		.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, .nlmsg_seq = 1 };
	request.tc = (struct tcmsg){ .tcm_ifindex = if_nametoindex(device), .tcm_handle = handle, .tcm_parent = parent };
	put(&request, TCA_KIND, "red", 4);
	options = (void *)(request.room + NLMSG_ALIGN(request.head.nlmsg_len));
	put(&request, TCA_OPTIONS, NULL, 0);
	put(&request, TCA_RED_PARMS, &red, sizeof red);
	put(&request, TCA_RED_STAB, decay, sizeof decay);
	put(&request, TCA_RED_MAX_P, &probability, sizeof probability);
	options->rta_len = request.room + request.head.nlmsg_len - (char *)options;
	if (send(fd, &request, request.head.nlmsg_len, 0) < 0 || recv(fd, &answer, sizeof answer, 0) < 0)
		fail("netlink");
	if (answer.error.error)
		fail("the kernel refuses red as a step on %s: error %d", device, answer.error.error);
	close(fd);
}

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

static uint32_t marks(const char *kind, const void *stats, size_t size)
{
	if (!strcmp(kind, "red") && size >= sizeof(struct tc_red_xstats))
		return ((const struct tc_red_xstats *)stats)->marked;
	if (!strcmp(kind, "codel") && size >= sizeof(struct tc_codel_xstats))
		return ((const struct tc_codel_xstats *)stats)->ecn_mark;
	if (!strcmp(kind, "fq_codel") && size >= sizeof(struct tc_fq_codel_xstats))
		return ((const struct tc_fq_codel_xstats *)stats)->qdisc_stats.ecn_mark;
	if (!strcmp(kind, "pie") && size >= sizeof(struct tc_pie_xstats))
		return ((const struct tc_pie_xstats *)stats)->ecn_mark;
	return 0;
}

static void read_queue(struct queue *queue)
{
	struct { struct nlmsghdr head; struct tcmsg tc; } request = {
		.head = { .nlmsg_len = sizeof request, .nlmsg_type = RTM_GETQDISC, .nlmsg_flags = NLM_F_REQUEST | NLM_F_ECHO },
		.tc = { .tcm_ifindex = queue->device, .tcm_handle = queue->handle } };
	static char answer[16384];
	struct nlmsghdr *head = (void *)answer;
	struct reading *reading = &queue->last;

	if (send(queue->netlink, &request, sizeof request, 0) < 0 ||
	    recv(queue->netlink, answer, sizeof answer, 0) < (ssize_t)sizeof *head || head->nlmsg_type != RTM_NEWQDISC)
		fail("netlink: no qdisc %x of node %d", queue->handle, queue->node);
	struct rtattr *outer = (void *)(answer + NLMSG_SPACE(sizeof(struct tcmsg)));
	int left = head->nlmsg_len - NLMSG_SPACE(sizeof(struct tcmsg));
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
				reading->marks = marks(queue->kind, data, RTA_PAYLOAD(inner));
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

	fprintf(file, "packets_before,bytes_before,drops_before,marks_before,packets,bytes,drops,marks,held,held_bytes\n");
	for (size_t i = 0; i < queue_count; i++) {
		struct reading *b = &queues[i].at_warmup, *e = &queues[i].last;

		fprintf(file, "%u,%llu,%u,%u,%u,%llu,%u,%u,%u,%u\n", b->packets, (unsigned long long)b->bytes, b->drops,
			b->marks, e->packets, (unsigned long long)e->bytes, e->drops, e->marks, e->length, e->backlog);
	}
	fclose(file);
	file = output("samples.csv");
	fprintf(file, "time_ns,queue,packets,bytes\n");
	for (size_t i = 0; i < sample_count; i++)
		fprintf(file, "%lld,%u,%u,%u\n", (long long)samples[i].at, samples[i].queue, samples[i].packets,
			samples[i].bytes);
	fclose(file);
}
