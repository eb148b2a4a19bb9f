/* Policers of ports: their buckets, as the kernel tells them, must be those that tc was to set; and whether a kernel has them. */
#define _GNU_SOURCE
#include "guest.h"
#include "netlink.h"

#include <errno.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A bucket's depth is in ticks of 64 ns, and tc cuts it to microseconds. */
enum { METERS = 3 << 16, TICK = 64, CUT = 1100 };

struct bucket {
	unsigned priority;
	unsigned long long rate;
	long long depth;
	int result, seen;
};

static struct rtattr *within(struct rtattr *outer, int type)
{
	struct rtattr *inner = RTA_DATA(outer);

	for (int left = RTA_PAYLOAD(outer); RTA_OK(inner, left); inner = RTA_NEXT(inner, left))
		if ((inner->rta_type & NLA_TYPE_MASK) == type)
			return inner;
	return NULL;
}

static void take_bucket(unsigned priority, struct rtattr *options, void *what)
{
	struct bucket *bucket = what;
	struct rtattr *at = within(options, TCA_MATCHALL_ACT), *settings;
	struct tc_police police;

	if (priority != bucket->priority || !at || !(at = within(at, 1)) || !(at = within(at, TCA_ACT_OPTIONS)))
		return;
	settings = within(at, TCA_POLICE_TBF);
	if (!settings || RTA_PAYLOAD(settings) < sizeof police)
		return;
	memcpy(&police, RTA_DATA(settings), sizeof police);
	settings = within(at, TCA_POLICE_RATE64);
	bucket->rate = settings ? number_in(settings, 8) : police.rate.rate;
	bucket->depth = (long long)police.burst * TICK;
	bucket->result = police.action == TC_ACT_SHOT;
	settings = within(at, TCA_POLICE_RESULT);
	bucket->result &= settings && (int)number_in(settings, 4) == TC_ACT_UNSPEC;
	bucket->seen = 1;
}

/* meter NODE DEVICE PRIORITY BYTES_A_SECOND DEPTH_NS: the bucket of a filter of the prio at the root */
void verify_meter(char *words)
{
	struct bucket bucket = { 0 };
	char device[IFNAMSIZ];
	unsigned long long rate;
	long long depth;
	unsigned node, index;

	if (sscanf(words, "%u %15s %u %llu %lld", &node, device, &bucket.priority, &rate, &depth) != 5)
		fail("meter: %s", words);
	enter(node);
	index = if_nametoindex(device);
	look_at_filters(node, index, METERS, take_bucket, &bucket);
	if (!bucket.seen)
		fail("there is no meter %u of %s", bucket.priority, device);
	if (bucket.rate != rate || llabs(bucket.depth - depth) > CUT || !bucket.result)
		fail("meter %u of %s has %llu bytes a second and holds %lld ns after %llu and %lld were set", bucket.priority,
		     device, bucket.rate, bucket.depth, rate, depth);
}

/* Whether the kernel has an action of this name: asked for one without settings, it refuses a name that it has by another
 * error than one that it has not (tc_action_load_ops). */
int has_action(const char *name)
{
	struct {
		struct nlmsghdr head;
		struct tcamsg all;
		struct rtattr table, first, kind;
		char name[16];
	} request = { .all.tca_family = AF_UNSPEC };
	union { struct { struct nlmsghdr head; struct nlmsgerr error; }; char room[4096]; } answer;
	int fd = connect_netlink(MACHINE), size = sizeof request.name;

	strncpy(request.name, name, sizeof request.name - 1);
	request.kind = (struct rtattr){ .rta_type = TCA_ACT_KIND, .rta_len = RTA_LENGTH(size) };
	request.first = (struct rtattr){ .rta_type = 1, .rta_len = RTA_LENGTH(request.kind.rta_len) };
	request.table = (struct rtattr){ .rta_type = TCA_ACT_TAB, .rta_len = RTA_LENGTH(request.first.rta_len) };
	request.head = (struct nlmsghdr){ .nlmsg_len = sizeof request, .nlmsg_type = RTM_NEWACTION, .nlmsg_seq = 1,
					  .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE };
	if (send(fd, &request, sizeof request, 0) < 0 || recv(fd, &answer, sizeof answer, 0) < 0 ||
	    answer.head.nlmsg_type != NLMSG_ERROR)
		fail("the kernel's actions");
	close(fd);
	return answer.error.error != -ENOENT;
}
