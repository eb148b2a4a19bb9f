/* Requests to the kernel about queue disciplines, and its answers. */
#define _GNU_SOURCE
#include "netlink.h"

#include "base.h"

#include <linux/pkt_sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef NETLINK_EXT_ACK
#define NETLINK_EXT_ACK 11
#endif

int connect_netlink(int node)
{
	struct sockaddr_nl address = { .nl_family = AF_NETLINK };
	int fd, on = 1;

	enter(node);
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (fd < 0 || bind(fd, (void *)&address, sizeof address) ||
	    setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof on))
		fail("netlink");
	return fd;
}

void begin(union request *request, int type, int flags, unsigned device, unsigned parent, unsigned handle)
{
	memset(request, 0, sizeof *request);
	request->head = (struct nlmsghdr){ .nlmsg_len = NLMSG_LENGTH(sizeof(struct tcmsg)), .nlmsg_type = type,
					   .nlmsg_flags = NLM_F_REQUEST | flags, .nlmsg_seq = 1 };
	request->tc = (struct tcmsg){ .tcm_ifindex = device, .tcm_handle = handle, .tcm_parent = parent };
}

struct rtattr *put(union request *request, int type, const void *data, size_t size)
{
	struct rtattr *attribute = (void *)(request->room + NLMSG_ALIGN(request->head.nlmsg_len));

	attribute->rta_type = type;
	attribute->rta_len = RTA_LENGTH(size);
	if (size)
		memcpy(RTA_DATA(attribute), data, size);
	request->head.nlmsg_len = NLMSG_ALIGN(request->head.nlmsg_len) + RTA_ALIGN(attribute->rta_len);
	return attribute;
}

void end(union request *request, struct rtattr *nest)
{
	nest->rta_len = request->room + request->head.nlmsg_len - (char *)nest;
}

int ask(int fd, union request *request, char *why, size_t room)
{
	union { struct { struct nlmsghdr head; struct nlmsgerr error; }; char room[4096]; } answer;
	int size, skip;

	snprintf(why, room, "no reason given");
	if (send(fd, request, request->head.nlmsg_len, 0) < 0 || (size = recv(fd, &answer, sizeof answer, 0)) < 0)
		fail("netlink");
	if (answer.head.nlmsg_type != NLMSG_ERROR || !answer.error.error)
		return 0;
	/* The request comes back before the message, unless it is capped. */
	skip = answer.head.nlmsg_flags & NLM_F_CAPPED ? 0 : answer.error.msg.nlmsg_len - sizeof(struct nlmsghdr);
	struct rtattr *attribute = (void *)((char *)(&answer.error + 1) + NLMSG_ALIGN(skip));
	int left = size - ((char *)attribute - answer.room);

	for (; answer.head.nlmsg_flags & NLM_F_ACK_TLVS && RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left))
		if ((attribute->rta_type & NLA_TYPE_MASK) == NLMSGERR_ATTR_MSG)
			snprintf(why, room, "%s", (char *)RTA_DATA(attribute));
	return -answer.error.error;
}

int look(int fd, unsigned device, unsigned handle, struct rtattr **first)
{
	static char answer[16384];
	struct nlmsghdr *head = (void *)answer;
	union request request;

	begin(&request, RTM_GETQDISC, NLM_F_ECHO, device, 0, handle);
	if (send(fd, &request, request.head.nlmsg_len, 0) < 0 || recv(fd, answer, sizeof answer, 0) < (ssize_t)sizeof *head ||
	    head->nlmsg_type != RTM_NEWQDISC)
		fail("netlink: no qdisc %x of device %u", handle, device);
	*first = (void *)(answer + NLMSG_SPACE(sizeof(struct tcmsg)));
	return head->nlmsg_len - NLMSG_SPACE(sizeof(struct tcmsg));
}

void order(int fd, union request *request, const char *kind, const char *device)
{
	char why[300];
	int error = ask(fd, request, why, sizeof why);

	if (error)
		fail("the kernel refuses %s on %s: %s (%s)", kind, device, why, strerror(error));
}

struct rtattr *options_of(int fd, unsigned device, unsigned handle)
{
	struct rtattr *outer;
	int left = look(fd, device, handle, &outer);

	for (; RTA_OK(outer, left); outer = RTA_NEXT(outer, left))
		if ((outer->rta_type & NLA_TYPE_MASK) == TCA_OPTIONS)
			return outer;
	return NULL;
}

struct rtattr *among(size_t fixed, int fd, unsigned device, unsigned handle, int type)
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

struct rtattr *option(int fd, unsigned device, unsigned handle, int type)
{
	return among(0, fd, device, handle, type);
}

uint64_t number_in(const struct rtattr *attribute, size_t size)
{
	uint64_t number = 0;

	if (attribute)
		memcpy(&number, RTA_DATA(attribute), size);
	return number;
}

/* The answer is one message of a page at most (NLMSG_GOODSIZE). */
enum { ANSWER = 8192, RECEIVE_BUFFER = 4 << 20 };

static int *sockets; /* by node; 0 if there is none yet */
static int most_nodes;

static int socket_of(int node)
{
	int room = RECEIVE_BUFFER;

	if (node >= most_nodes) {
		sockets = realloc(sockets, (node + 1) * sizeof *sockets);
		if (!sockets)
			fail("out of memory for sockets");
		memset(sockets + most_nodes, 0, (node + 1 - most_nodes) * sizeof *sockets);
		most_nodes = node + 1;
	}
	if (!sockets[node]) {
		sockets[node] = connect_netlink(node);
		if (setsockopt(sockets[node], SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room))
			fail("netlink's buffer");
	}
	return sockets[node];
}

void look_at(int node, struct look *looks, size_t count)
{
	static char answers[MOST_LOOKS][ANSWER];
	struct { struct nlmsghdr head; struct tcmsg tc; } requests[MOST_LOOKS];
	struct iovec parts[MOST_LOOKS];
	struct mmsghdr messages[MOST_LOOKS] = { 0 };
	int fd = socket_of(node);

	memset(requests, 0, count * sizeof *requests);
	for (size_t i = 0; i < count; i++) {
		requests[i].head = (struct nlmsghdr){ .nlmsg_len = sizeof *requests, .nlmsg_type = RTM_GETQDISC,
						      .nlmsg_flags = NLM_F_REQUEST | NLM_F_ECHO, .nlmsg_seq = i + 1 };
		requests[i].tc = (struct tcmsg){ .tcm_ifindex = looks[i].device, .tcm_handle = looks[i].handle };
		parts[i] = (struct iovec){ answers[i], ANSWER };
		messages[i].msg_hdr = (struct msghdr){ .msg_iov = &parts[i], .msg_iovlen = 1 };
	}
	/* The kernel has answered all when the call returns. */
	if (send(fd, requests, count * sizeof *requests, 0) < 0 ||
	    recvmmsg(fd, messages, count, MSG_DONTWAIT, NULL) != (int)count)
		fail("netlink: %zu qdiscs of node %d", count, node);
	for (size_t i = 0; i < count; i++) {
		struct nlmsghdr *head = (void *)answers[i];

		looks[i].first = NULL;
		if (head->nlmsg_type == NLMSG_ERROR)
			continue; /* a program has removed it, or its device */
		if (head->nlmsg_type != RTM_NEWQDISC || messages[i].msg_hdr.msg_flags & MSG_TRUNC)
			fail("netlink: no qdisc %x of device %u", looks[i].handle, looks[i].device);
		looks[i].first = (void *)(answers[i] + NLMSG_SPACE(sizeof(struct tcmsg)));
		looks[i].left = head->nlmsg_len - NLMSG_SPACE(sizeof(struct tcmsg));
	}
}

void look_at_filters(int node, unsigned device, unsigned hook,
		     void (*take)(unsigned priority, struct rtattr *options, void *what), void *what)
{
	static char answer[1 << 16];
	struct nlmsghdr *head;
	union request request;
	int fd = socket_of(node), size, left;

	begin(&request, RTM_GETTFILTER, NLM_F_DUMP, device, hook, 0);
	if (send(fd, &request, request.head.nlmsg_len, 0) < 0)
		fail("netlink: filters of device %u", device);
	while ((size = recv(fd, answer, sizeof answer, 0)) > 0)
		for (head = (void *)answer; NLMSG_OK(head, size); head = NLMSG_NEXT(head, size)) {
			struct tcmsg *filter = NLMSG_DATA(head);
			struct rtattr *attribute = TCA_RTA(filter);

			if (head->nlmsg_type == NLMSG_DONE)
				return;
			if (head->nlmsg_type != RTM_NEWTFILTER)
				break;
			left = TCA_PAYLOAD(head);
			for (; RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left))
				if ((attribute->rta_type & NLA_TYPE_MASK) == TCA_OPTIONS)
					take(filter->tcm_info >> 16, attribute, what);
		}
	fail("netlink: filters of device %u", device);
}

/* Whether a discipline of a node holds a packet; 1 where it does. */
static int node_holds(int node)
{
	static char answer[1 << 16];
	struct nlmsghdr *head;
	union request request;
	int fd = socket_of(node), size, left, holds = 0;

	begin(&request, RTM_GETQDISC, NLM_F_DUMP, 0, 0, 0);
	if (send(fd, &request, request.head.nlmsg_len, 0) < 0)
		fail("netlink: disciplines of node %d", node);
	while ((size = recv(fd, answer, sizeof answer, 0)) > 0)
		for (head = (void *)answer; NLMSG_OK(head, size); head = NLMSG_NEXT(head, size)) {
			struct rtattr *attribute = TCA_RTA(NLMSG_DATA(head));

			if (head->nlmsg_type == NLMSG_DONE)
				return holds;
			if (head->nlmsg_type != RTM_NEWQDISC)
				break;
			left = TCA_PAYLOAD(head);
			for (; RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left))
				if (attribute->rta_type == TCA_STATS && RTA_PAYLOAD(attribute) >= sizeof(struct tc_stats))
					holds |= ((struct tc_stats *)RTA_DATA(attribute))->qlen > 0;
		}
	fail("netlink: disciplines of node %d", node);
}

int network_holds(int nodes)
{
	for (int node = 0; node < nodes; node++)
		if (node_holds(node))
			return 1;
	return 0;
}
