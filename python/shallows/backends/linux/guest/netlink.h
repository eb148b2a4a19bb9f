/* Requests to the kernel about queue disciplines, and its answers. */
#ifndef NETLINK_H
#define NETLINK_H

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stddef.h>
#include <stdint.h>

union request {
	struct {
		struct nlmsghdr head;
		struct tcmsg tc;
	};
	char room[40960]; /* a netem's table of delays has 32 KB */
};

int connect_netlink(int node);
/* A message about the discipline `handle` of a device; attributes are added with `put`. */
void begin(union request *request, int type, int flags, unsigned device, unsigned parent, unsigned handle);
struct rtattr *put(union request *request, int type, const void *data, size_t size);
void end(union request *request, struct rtattr *nest);
/* Sends a change; returns 0, or the error with what the kernel says about it. */
int ask(int fd, union request *request, char *why, size_t room);
/* Sends a change, which must succeed. */
void order(int fd, union request *request, const char *kind, const char *device);
/* The attributes of a discipline: their number of bytes, with the first in `first`. It stays until the next call. */
int look(int fd, unsigned device, unsigned handle, struct rtattr **first);

/* The options of a discipline; or NULL. They stay until the next look. */
struct rtattr *options_of(int fd, unsigned device, unsigned handle);
/* Attribute `type` among the options of a discipline, behind the `fixed` bytes with which they begin; or NULL. */
struct rtattr *among(size_t fixed, int fd, unsigned device, unsigned handle, int type);
struct rtattr *option(int fd, unsigned device, unsigned handle, int type);
/* The number in the first `size` bytes of an attribute; 0 without one. */
uint64_t number_in(const struct rtattr *attribute, size_t size);

/* A discipline to look at, and the attributes that the kernel tells of it: NULL where it is no longer there. */
struct look {
	unsigned device, handle;
	struct rtattr *first;
	int left;
};

enum { MOST_LOOKS = 64 };

/* Looks at several of a node with one request; the answers stand until the next call. */
void look_at(int node, struct look *looks, size_t count);

/* Whether a discipline of the first nodes holds a packet. */
int network_holds(int nodes);

/* Gives `take` the priority and options of every filter at a hook of a device, and `what`. */
void look_at_filters(int node, unsigned device, unsigned hook,
		     void (*take)(unsigned priority, struct rtattr *options, void *what), void *what);

#endif
