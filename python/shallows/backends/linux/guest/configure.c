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
	add(fd, &request, "red as a step", device);
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
	add(fd, &request, "adaptive red", device);
	back = option(fd, index, handle, TCA_RED_PARMS);
	memcpy(&set, RTA_DATA(back), sizeof set);
	back = option(fd, index, handle, RED_FLAGS);
	memcpy(&after, RTA_DATA(back), sizeof after);
	if (memcmp(&set, &red, sizeof set) || after.value != before.value)
		fail("red on %s is not as it was after its timer was started", device);
	close(fd);
}

/* TCA_NETEM_PRNG_SEED, which older headers do not have. */
enum { NETEM_SEED = 14, WIRE = 1 << 16, HOLD = 2 << 16 };

static uint64_t told(const struct rtattr *attribute, size_t size)
{
	uint64_t number = 0;

	if (attribute)
		memcpy(&number, RTA_DATA(attribute), size);
	return number;
}

/* The netem of a wire as the kernel tells it must be what was set. */
static void verify_wire(int fd, unsigned index, const char *device, long long delay, unsigned long long rate,
			unsigned loss, unsigned long long seed)
{
	struct rtattr *all = options_of(fd, index, WIRE);
	size_t fixed = sizeof(struct tc_netem_qopt);
	int wide = rate > UINT32_MAX;
	struct tc_netem_qopt set;
	uint64_t back;

	if (!all || RTA_PAYLOAD(all) < sizeof set)
		fail("netem on %s does not tell its settings", device);
	memcpy(&set, RTA_DATA(all), sizeof set);
	back = told(among(fixed, fd, index, WIRE, TCA_NETEM_LATENCY64), 8);
	if ((long long)back != delay)
		fail("netem on %s delays by %llu ns after %lld were set", device, (unsigned long long)back, delay);
	back = told(among(fixed, fd, index, WIRE, wide ? TCA_NETEM_RATE64 : TCA_NETEM_RATE), wide ? 8 : 4);
	if (back != rate)
		fail("netem on %s has rate %llu after %llu bytes a second was set", device, (unsigned long long)back, rate);
	back = told(among(fixed, fd, index, WIRE, NETEM_SEED), 8);
	if (set.loss != loss || (loss && back != seed))
		fail("netem on %s loses %u of 2^32 from seed %llu after %u from %llu was set", device, set.loss,
		     (unsigned long long)back, loss, seed);
}

/* NODE DEVICE DELAY_NS BYTES_A_SECOND OVERHEAD LOSS SEED: makes or changes the netem of a wire, for packets of OVERHEAD
 * more bytes than the device counts. It loses LOSS of 2^32 - 1 packets, drawn from SEED. tc cuts delays to
 * microseconds. */
static void set_wire(const char *words, int flags)
{
	char device[IFNAMSIZ];
	unsigned node, index;
	long long delay;
	unsigned long long rate, seed;
	int fd, overhead;
	union request request;
	struct rtattr *options;
	struct tc_netem_qopt netem = { .limit = 1000000 };
	struct tc_netem_rate speed;

	if (sscanf(words, "%u %15s %lld %llu %d %u %llu", &node, device, &delay, &rate, &overhead, &netem.loss, &seed) != 7)
		fail("wire: %s", words);
	fd = connect_netlink(node);
	index = if_nametoindex(device);
	speed = (struct tc_netem_rate){ .rate = rate > UINT32_MAX ? UINT32_MAX : rate, .packet_overhead = overhead };
	begin(&request, RTM_NEWQDISC, NLM_F_ACK | flags, index, TC_H_ROOT, WIRE);
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
	verify_wire(fd, index, device, delay, rate, netem.loss, seed);
	close(fd);
}

/* wire NODE DEVICE DELAY_NS BYTES_A_SECOND OVERHEAD LOSS SEED */
void add_wire(char *words)
{
	set_wire(words, NLM_F_CREATE | NLM_F_EXCL);
}

/* The same of a wire that is there: packets on it keep their times. */
void change_wire(char *words)
{
	set_wire(words, 0);
}

/* The same, and the packets on the wire are lost: it is made anew. */
void cut_wire(char *words)
{
	char device[IFNAMSIZ];
	union request request;
	unsigned node;
	int fd;

	if (sscanf(words, "%u %15s", &node, device) != 2)
		fail("cut: %s", words);
	wire_ends(node, device);
	fd = connect_netlink(node);
	begin(&request, RTM_DELQDISC, NLM_F_ACK, if_nametoindex(device), TC_H_ROOT, 0);
	add(fd, &request, "the end of a wire", device);
	close(fd);
	add_wire(words);
}

/* hold NODE DEVICE SHARE MOST_NS SEED
 *
 * A netem under the wire's, for packets at its end: SHARE of 16384 packets wait, for times spread evenly up to MOST_NS.
 * It has no rate, so that the others overtake them. netem draws from a table whose entries are multiples of the jitter
 * (tabledist); its largest entry, 32767, is four times the jitter. */
void add_hold(char *words)
{
	enum { ENTRIES = 16384, LARGEST = 32767 };
	char device[IFNAMSIZ];
	unsigned node, index, share;
	long long most, jitter, none = 0;
	unsigned long long seed;
	static int16_t table[ENTRIES];
	union request request;
	struct rtattr *options;
	struct tc_netem_qopt netem = { .limit = 1000000 };
	size_t fixed = sizeof netem;
	int fd;

	if (sscanf(words, "%u %15s %u %lld %llu", &node, device, &share, &most, &seed) != 5 || share > ENTRIES)
		fail("hold: %s", words);
	fd = connect_netlink(node);
	index = if_nametoindex(device);
	jitter = most / 4;
	memset(table, 0, sizeof table);
	for (unsigned i = 0; i < share; i++)
		table[i] = (long long)LARGEST * (2 * i + 1) / (2 * share);
	begin(&request, RTM_NEWQDISC, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, index, WIRE | 1, HOLD);
	put(&request, TCA_KIND, "netem", sizeof "netem");
	options = put(&request, TCA_OPTIONS, &netem, sizeof netem);
	put(&request, TCA_NETEM_LATENCY64, &none, sizeof none);
	put(&request, TCA_NETEM_JITTER64, &jitter, sizeof jitter);
	put(&request, TCA_NETEM_DELAY_DIST, table, sizeof table);
	put(&request, NETEM_SEED, &seed, sizeof seed);
	end(&request, options);
	add(fd, &request, "netem that holds packets back", device);
	if (told(among(fixed, fd, index, HOLD, TCA_NETEM_JITTER64), 8) != (uint64_t)jitter ||
	    told(among(fixed, fd, index, HOLD, NETEM_SEED), 8) != seed)
		fail("netem on %s does not hold packets back as it was set", device);
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
	add(fd, &request, "another rate of tbf", device);
	back = option(fd, index, handle, TCA_TBF_PARMS);
	if (!back || RTA_PAYLOAD(back) < sizeof set)
		fail("tbf on %s does not tell its settings", device);
	memcpy(&set, RTA_DATA(back), sizeof set);
	back = wide ? option(fd, index, handle, TCA_TBF_RATE64) : NULL;
	if ((wide ? told(back, 8) : set.rate.rate) != rate)
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
	add(fd, &request, kind, device);
	back = options_of(fd, index, handle);
	if (told(back, sizeof fifo.limit) != fifo.limit)
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
