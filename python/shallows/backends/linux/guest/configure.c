/* Queue disciplines that tc cannot configure, or that are newer than the machine's tc. What was set is read back. */
#define _GNU_SOURCE
#include "guest.h"
#include "netlink.h"

#include <linux/pkt_sched.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* TCA_RED_FLAGS, which older headers do not have. The word `flags` of struct tc_red_qopt takes only ECN, HARDDROP and
 * ADAPTATIVE; the kernel stores its other bits for user space and returns them (red_get_flags). */
enum { RED_FLAGS = 4, RED_HISTORIC = TC_RED_ECN | TC_RED_HARDDROP | TC_RED_ADAPTATIVE, RED_ALL = RED_HISTORIC | 8 };

/* step NODE DEVICE PARENT HANDLE LIMIT_BYTES THRESHOLD_BYTES FLAGS
 *
 * RED with W = 1 (Wlog 0), min = max = threshold: the average is the queue that the packet finds, and all at or
 * above the threshold is marked. tc computes Wlog from a burst and never gives 0. After an idle time the average
 * is nothing, by a decay of 2^-31 in every cell of its table. */
void add_step(char *words)
{
	char device[IFNAMSIZ];
	unsigned node, parent, handle, limit, threshold, flags, index;
	union request request;
	uint8_t decay[256];
	uint32_t probability = UINT32_MAX;
	struct rtattr *options, *back;
	struct tc_red_qopt set;
	struct nla_bitfield32 chosen, chosen_back = { 0 };
	int fd;

	if (sscanf(words, "%u %15s %x %x %u %u %u", &node, device, &parent, &handle, &limit, &threshold, &flags) != 7)
		fail("step: %s", words);
	fd = connect_netlink(node);
	index = if_nametoindex(device);
	memset(decay, 31, sizeof decay);
	struct tc_red_qopt red = { .limit = limit, .qth_min = threshold, .qth_max = threshold, .Wlog = 0, .Plog = 31,
				   .Scell_log = 1 };
	chosen = (struct nla_bitfield32){ .value = flags, .selector = RED_ALL };
	begin(&request, RTM_NEWQDISC, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, index, parent, handle);
	put(&request, TCA_KIND, "red", 4);
	options = put(&request, TCA_OPTIONS, NULL, 0);
	put(&request, TCA_RED_PARMS, &red, sizeof red);
	put(&request, TCA_RED_STAB, decay, sizeof decay);
	put(&request, TCA_RED_MAX_P, &probability, sizeof probability);
	put(&request, RED_FLAGS, &chosen, sizeof chosen);
	end(&request, options);
	order(fd, &request, "red as a step", device);
	back = option(fd, index, handle, TCA_RED_PARMS);
	if (!back || RTA_PAYLOAD(back) < sizeof set)
		fail("red on %s does not tell its settings", device);
	memcpy(&set, RTA_DATA(back), sizeof set);
	if ((back = option(fd, index, handle, RED_FLAGS)))
		memcpy(&chosen_back, RTA_DATA(back), sizeof chosen_back);
	if (set.limit != limit || set.qth_min != threshold || set.qth_max != threshold || set.Wlog ||
	    chosen_back.value != flags)
		fail("red on %s is not as it was set: limit %u min %u max %u Wlog %u flags %u", device, set.limit, set.qth_min,
		     set.qth_max, set.Wlog, chosen_back.value);
	close(fd);
}

/* adapt NODE DEVICE HANDLE
 *
 * Starts the timer of an adaptive RED that tc has made. The kernel starts it by the old word of flags alone
 * (__red_change), and tc sends the flag in TCA_RED_FLAGS. A change by the old word leaves the flag NODROP, which tc
 * has set, as it is. The table of idle times is not reported; under a token bucket, which peeks, RED is never asked
 * while it is empty, so that no idle time begins. */
void add_adaptive(char *words)
{
	char device[IFNAMSIZ];
	unsigned node, handle, index;
	union request request;
	uint8_t decay[256];
	uint32_t probability;
	struct rtattr *options, *back;
	struct nla_bitfield32 before, after;
	struct tc_red_qopt red, set;
	int fd;

	if (sscanf(words, "%u %15s %x", &node, device, &handle) != 3)
		fail("adapt: %s", words);
	fd = connect_netlink(node);
	index = if_nametoindex(device);
	memset(decay, 31, sizeof decay);
	back = option(fd, index, handle, TCA_RED_PARMS);
	if (!back)
		fail("there is no red on %s", device);
	memcpy(&red, RTA_DATA(back), sizeof red);
	back = option(fd, index, handle, TCA_RED_MAX_P);
	if (!back)
		fail("red on %s does not tell its probability", device);
	memcpy(&probability, RTA_DATA(back), sizeof probability);
	back = option(fd, index, handle, RED_FLAGS);
	if (!back)
		fail("red on %s does not tell its flags", device);
	memcpy(&before, RTA_DATA(back), sizeof before);
	red.flags = before.value & RED_HISTORIC;
	begin(&request, RTM_NEWQDISC, NLM_F_ACK, index, 0, handle);
	put(&request, TCA_KIND, "red", 4);
	options = put(&request, TCA_OPTIONS, NULL, 0);
	put(&request, TCA_RED_PARMS, &red, sizeof red);
	put(&request, TCA_RED_STAB, decay, sizeof decay);
	put(&request, TCA_RED_MAX_P, &probability, sizeof probability);
	end(&request, options);
	order(fd, &request, "adaptive red", device);
	back = option(fd, index, handle, TCA_RED_PARMS);
	memcpy(&set, RTA_DATA(back), sizeof set);
	back = option(fd, index, handle, RED_FLAGS);
	memcpy(&after, RTA_DATA(back), sizeof after);
	if (memcmp(&set, &red, sizeof set) || after.value != before.value)
		fail("red on %s is not as it was after its timer was started", device);
	close(fd);
}

/* shape NODE DEVICE HANDLE BYTES_A_SECOND BURST LIMIT OVERHEAD: another rate of a token bucket. A change without a size
 * table takes the table away (qdisc_change). */
void change_shaper(char *words)
{
	char device[IFNAMSIZ];
	unsigned node, handle, burst, limit, index;
	unsigned long long rate;
	union request request;
	struct rtattr *options, *back;
	struct tc_tbf_qopt tbf = { 0 }, set;
	struct tc_sizespec sizes = { .linklayer = 1 }; /* TC_LINKLAYER_ETHERNET */
	int fd, wide;

	if (sscanf(words, "%u %15s %x %llu %u %u %d", &node, device, &handle, &rate, &burst, &limit, &sizes.overhead) != 7)
		fail("shape: %s", words);
	wide = rate > UINT32_MAX;
	fd = connect_netlink(node);
	index = if_nametoindex(device);
	tbf.rate = (struct tc_ratespec){ .linklayer = 1, .rate = wide ? UINT32_MAX : rate }; /* TC_LINKLAYER_ETHERNET */
	tbf.limit = limit;
	begin(&request, RTM_NEWQDISC, NLM_F_ACK, index, 0, handle);
	put(&request, TCA_KIND, "tbf", 4);
	options = put(&request, TCA_OPTIONS, NULL, 0);
	put(&request, TCA_TBF_PARMS, &tbf, sizeof tbf);
	put(&request, TCA_TBF_BURST, &burst, sizeof burst);
	if (wide)
		put(&request, TCA_TBF_RATE64, &rate, sizeof rate);
	end(&request, options);
	if (sizes.overhead) {
		options = put(&request, TCA_STAB, NULL, 0);
		put(&request, TCA_STAB_BASE, &sizes, sizeof sizes);
		end(&request, options);
	}
	order(fd, &request, "another rate of tbf", device);
	back = option(fd, index, handle, TCA_TBF_PARMS);
	if (!back || RTA_PAYLOAD(back) < sizeof set)
		fail("tbf on %s does not tell its settings", device);
	memcpy(&set, RTA_DATA(back), sizeof set);
	back = wide ? option(fd, index, handle, TCA_TBF_RATE64) : NULL;
	if ((wide ? number_in(back, 8) : set.rate.rate) != rate)
		fail("tbf on %s has another rate than %llu bytes a second", device, rate);
	close(fd);
}

/* limit NODE DEVICE HANDLE KIND LIMIT: that of a fifo, which a change of the shaper above it overwrites (tbf_change,
 * fifo_set_limit). */
void change_limit(char *words)
{
	char device[IFNAMSIZ], kind[IFNAMSIZ];
	unsigned node, handle, index;
	union request request;
	struct tc_fifo_qopt fifo;
	struct rtattr *back;
	int fd;

	if (sscanf(words, "%u %15s %x %15s %u", &node, device, &handle, kind, &fifo.limit) != 5)
		fail("limit: %s", words);
	fd = connect_netlink(node);
	index = if_nametoindex(device);
	begin(&request, RTM_NEWQDISC, NLM_F_ACK, index, 0, handle);
	put(&request, TCA_KIND, kind, strlen(kind) + 1);
	put(&request, TCA_OPTIONS, &fifo, sizeof fifo);
	order(fd, &request, kind, device);
	back = options_of(fd, index, handle);
	if (number_in(back, sizeof fifo.limit) != fifo.limit)
		fail("%s on %s has another limit than %u", kind, device, fifo.limit);
	close(fd);
}

/* attributes NODE DEVICE PARENT HANDLE KIND TYPE:BITS:VALUE ... */
void add_attributes(char *words)
{
	char device[IFNAMSIZ], kind[IFNAMSIZ];
	unsigned node, parent, handle, index, type, bits, value;
	union request request;
	struct rtattr *options;
	int fd, used;

	if (sscanf(words, "%u %15s %x %x %15s%n", &node, device, &parent, &handle, kind, &used) != 5)
		fail("attributes: %s", words);
	fd = connect_netlink(node);
	index = if_nametoindex(device);
	begin(&request, RTM_NEWQDISC, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, index, parent, handle);
	put(&request, TCA_KIND, kind, strlen(kind) + 1);
	options = put(&request, TCA_OPTIONS, NULL, 0);
	options->rta_type |= NLA_F_NESTED;
	/* Little-endian machines: a u8 is the first byte of the number. */
	for (char *at = words + used; sscanf(at, " %u:%u:%u%n", &type, &bits, &value, &used) == 3; at += used)
		put(&request, type, &value, bits / 8);
	end(&request, options);
	order(fd, &request, kind, device);
	sscanf(words, "%*u %*s %*x %*x %*s%n", &used);
	for (char *at = words + used; sscanf(at, " %u:%u:%u%n", &type, &bits, &value, &used) == 3; at += used) {
		struct rtattr *back = option(fd, index, handle, type);
		unsigned is = 0;

		if (back)
			memcpy(&is, RTA_DATA(back), bits / 8);
		if (!back || (is != value && is + 1 != value)) /* gains are scaled there and back, and rounded down */
			fail("%s on %s: attribute %u is %u after %u was set", kind, device, type, is, value);
	}
	close(fd);
}
