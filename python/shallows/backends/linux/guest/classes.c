/* Arrivals at ports by class. Packets bear the number of their class in the first three bits of the type of service,
 * which no discipline and no routing here looks at. Before a port's discipline a filter for each class counts. */
#define _GNU_SOURCE
#include "guest.h"
#include "netlink.h"

#include <linux/gen_stats.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <net/if.h>
#include <string.h>

enum { CLASSES = 8, EGRESS = 0xfffffff3 }; /* the hook of clsact before a device's discipline */

struct counter {
	uint64_t bytes;
	uint32_t packets;
};

struct arrivals {
	int queue, node;
	unsigned device;
	struct counter counters[CLASSES];
};

static struct arrivals *places;
static size_t place_count;
static int *class_of_load, class_count;
static size_t load_count;
static FILE *trace;

void add_class(char *words) /* NUMBER, of the next load */
{
	int number;

	if (sscanf(words, "%d", &number) != 1 || number < 0 || number >= CLASSES)
		fail("class: %s", words);
	ROOM(class_of_load, load_count);
	class_of_load[load_count++] = number;
	if (number >= class_count)
		class_count = number + 1;
}

int service_of_load(int load)
{
	return load < (int)load_count ? class_of_load[load] << 5 : 0;
}

void add_arrivals(char *words) /* QUEUE NODE DEVICE */
{
	char device[IFNAMSIZ];
	struct arrivals made = { 0 };

	if (sscanf(words, "%d %d %15s", &made.queue, &made.node, device) != 3)
		fail("arrivals: %s", words);
	enter(made.node);
	made.device = if_nametoindex(device);
	if (!made.device)
		fail("there is no device %s", device);
	ROOM(places, place_count);
	places[place_count++] = made;
}

void classes_start(void)
{
	trace = output("arrivals.csv");
	fprintf(trace, "time_ns,queue,class,packets,bytes\n");
}

static struct rtattr *within(struct rtattr *outer, int type)
{
	struct rtattr *inner;
	int left;

	if (!outer)
		return NULL;
	inner = RTA_DATA(outer);
	left = RTA_PAYLOAD(outer);
	for (; RTA_OK(inner, left); inner = RTA_NEXT(inner, left))
		if ((inner->rta_type & NLA_TYPE_MASK) == type)
			return inner;
	return NULL;
}

/* A filter's priority is its class's number and one more; its first action counts. */
static void take(unsigned priority, struct rtattr *options, void *what)
{
	struct arrivals *place = what;
	struct rtattr *action = within(within(options, TCA_U32_ACT), 1);
	struct rtattr *basic = within(within(action, TCA_ACT_STATS), TCA_STATS_BASIC);
	struct gnet_stats_basic stats;

	if (!basic || priority < 1 || priority > CLASSES) /* the table of the filter, which counts nothing */
		return;
	memcpy(&stats, RTA_DATA(basic), sizeof stats);
	place->counters[priority - 1] = (struct counter){ stats.bytes, stats.packets };
}

void trace_classes(nanoseconds at)
{
	for (size_t i = 0; i < place_count; i++) {
		struct arrivals *place = &places[i];

		look_at_filters(place->node, place->device, EGRESS, take, place);
		for (int class = 0; class < class_count; class++)
			fprintf(trace, "%lld,%d,%d,%u,%llu\n", (long long)at, place->queue, class,
				place->counters[class].packets, (unsigned long long)place->counters[class].bytes);
	}
}

void classes_write(void)
{
	done(trace);
}
