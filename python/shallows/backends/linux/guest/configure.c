/* Queue disciplines that tc cannot configure, or that are newer than the machine's tc. What was set is read back. */
#define _GNU_SOURCE
#include "guest.h"
#include "netlink.h"

#include <linux/pkt_sched.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void add(int fd, union request *request, const char *kind, const char *device)
{
	char why[300];
	int error = ask(fd, request, why, sizeof why);

	if (error)
		fail("the kernel refuses %s on %s: %s (%s)", kind, device, why, strerror(error));
}

/* The options of a discipline; or NULL. */
static struct rtattr *options_of(int fd, unsigned device, unsigned handle)
{
	struct rtattr *outer;
	int left = look(fd, device, handle, &outer);

	for (; RTA_OK(outer, left); outer = RTA_NEXT(outer, left))
		if ((outer->rta_type & NLA_TYPE_MASK) == TCA_OPTIONS)
			return outer;
	return NULL;
}

/* Attribute `type` among the options of the discipline, behind the `fixed` bytes with which they begin; or NULL. */
static struct rtattr *among(size_t fixed, int fd, unsigned device, unsigned handle, int type)
{
	struct rtattr *outer = options_of(fd, device, handle), *inner;
	int within;

	if (!outer)
		return NULL;
	within = RTA_PAYLOAD(outer) - NLA_ALIGN(fixed);
	inner = (void *)((char *)RTA_DATA(outer) + NLA_ALIGN(fixed));
	for (; RTA_OK(inner, within); inner = RTA_NEXT(inner, within))
		if ((inner->rta_type & NLA_TYPE_MASK) == type)
			return inner;
	return NULL;
}

static struct rtattr *option(int fd, unsigned device, unsigned handle, int type)
{
	return among(0, fd, device, handle, type);
}

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
	int fd;

	if (sscanf(words, "%u %15s %x %x %u %u %u", &node, device, &parent, &handle, &limit, &threshold, &flags) != 7)
		fail("step: %s", words);
	fd = connect_netlink(node);
	index = if_nametoindex(device);
	memset(decay, 31, sizeof decay);
	struct tc_red_qopt red = { .limit = limit, .qth_min = threshold, .qth_max = threshold, .Wlog = 0, .Plog = 31,
				   .Scell_log = 1, .flags = flags };
	begin(&request, RTM_NEWQDISC, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, index, parent, handle);
	put(&request, TCA_KIND, "red", 4);
	options = put(&request, TCA_OPTIONS, NULL, 0);
	put(&request, TCA_RED_PARMS, &red, sizeof red);
	put(&request, TCA_RED_STAB, decay, sizeof decay);
	put(&request, TCA_RED_MAX_P, &probability, sizeof probability);
	end(&request, options);
	add(fd, &request, "red as a step", device);
	back = option(fd, index, handle, TCA_RED_PARMS);
	if (!back || RTA_PAYLOAD(back) < sizeof set)
		fail("red on %s does not tell its settings", device);
	memcpy(&set, RTA_DATA(back), sizeof set);
	if (set.limit != limit || set.qth_min != threshold || set.qth_max != threshold || set.Wlog || set.flags != flags)
		fail("red on %s is not as it was set: limit %u min %u max %u Wlog %u flags %u", device, set.limit, set.qth_min,
		     set.qth_max, set.Wlog, set.flags);
	close(fd);
}

/* TCA_NETEM_PRNG_SEED, which older headers do not have. */
enum { NETEM_SEED = 14 };

/* wire NODE DEVICE DELAY_NS BYTES_A_SECOND OVERHEAD LOSS SEED
 *
 * netem with delay and rate, for packets of OVERHEAD more bytes than the device counts. It loses LOSS of 2^32 - 1
 * packets, drawn from SEED. tc cuts delays to microseconds. */
void add_wire(char *words)
{
	char device[IFNAMSIZ];
	unsigned node, index, handle = 1 << 16;
	long long delay, delay_back;
	unsigned long long rate, rate_back, seed, seed_back = 0;
	int fd, overhead;
	union request request;
	struct rtattr *options, *back;
	struct tc_netem_qopt netem = { .limit = 1000000 };
	struct tc_netem_rate speed;

	if (sscanf(words, "%u %15s %lld %llu %d %u %llu", &node, device, &delay, &rate, &overhead, &netem.loss, &seed) != 7)
		fail("wire: %s", words);
	fd = connect_netlink(node);
	index = if_nametoindex(device);
	speed = (struct tc_netem_rate){ .rate = rate > UINT32_MAX ? UINT32_MAX : rate, .packet_overhead = overhead };
	begin(&request, RTM_NEWQDISC, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, index, TC_H_ROOT, handle);
	put(&request, TCA_KIND, "netem", sizeof "netem");
	options = put(&request, TCA_OPTIONS, &netem, sizeof netem);
	put(&request, TCA_NETEM_LATENCY64, &delay, sizeof delay);
	put(&request, TCA_NETEM_RATE, &speed, sizeof speed);
	if (rate > UINT32_MAX)
		put(&request, TCA_NETEM_RATE64, &rate, sizeof rate);
	if (netem.loss)
		put(&request, NETEM_SEED, &seed, sizeof seed);
	end(&request, options);
	add(fd, &request, "netem", device);
	back = among(sizeof netem, fd, index, handle, TCA_NETEM_LATENCY64);
	if (back)
		memcpy(&delay_back, RTA_DATA(back), sizeof delay_back);
	if (!back || delay_back != delay)
		fail("netem on %s has another delay than %lld ns", device, delay);
	back = among(sizeof netem, fd, index, handle, rate > UINT32_MAX ? TCA_NETEM_RATE64 : TCA_NETEM_RATE);
	rate_back = 0;
	if (back)
		memcpy(&rate_back, RTA_DATA(back), rate > UINT32_MAX ? 8 : 4);
	if (rate_back != rate)
		fail("netem on %s has rate %llu after %llu bytes a second was set", device, rate_back, rate);
	if (netem.loss) {
		struct tc_netem_qopt set;

		back = options_of(fd, index, handle);
		if (!back || RTA_PAYLOAD(back) < sizeof set)
			fail("netem on %s does not tell its settings", device);
		memcpy(&set, RTA_DATA(back), sizeof set);
		if ((back = among(sizeof netem, fd, index, handle, NETEM_SEED)))
			memcpy(&seed_back, RTA_DATA(back), sizeof seed_back);
		if (set.loss != netem.loss || seed_back != seed)
			fail("netem on %s loses %u of 2^32 from seed %llu after %u from %llu was set", device, set.loss, seed_back,
			     netem.loss, seed);
	}
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
	add(fd, &request, kind, device);
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
