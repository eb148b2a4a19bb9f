/* The base of all parts: it knows none of them. */
#ifndef BASE_H
#define BASE_H

#include <stdint.h>
#include <stdio.h>

typedef int64_t nanoseconds;

#define NEVER INT64_MAX

/* Writes out what is open, and stops the machine. */
_Noreturn void stop(void);
/* Reports on the console and in the output, and stops the machine. */
_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Room for one more element: grows `array` of `count` elements as needed. */
#define ROOM(array, count) ((array) = grow((array), sizeof *(array), (count)))
void *grow(void *array, size_t size, size_t count);
/* A file of results, which `done` closes: what could not be written ends the run. */
FILE *output(const char *name);
/* Writes a file of /proc whole. */
void write_line(const char *path, const char *text);

#define VERSION_6 "/proc/sys/net/ipv6/conf/default/disable_ipv6"

void done(FILE *file);

/* What an event of the loop is about: the first member of the structure that `watch` was given. */
enum what { LISTENER, SENDER, RECEIVER, OUTPUT, CHILD, CAPTURE, DATAGRAMS_IN, DATAGRAMS_OUT };
void watch(int descriptor, void *what, uint32_t events, int again);
void unwatch(int descriptor);

/* Epoll's descriptor; `main` makes it. */
extern int loop;

nanoseconds now(void);
void enter(int node); /* the node's network namespace, or the machine's, for sockets made from here on */
enum { MACHINE = -1 };

/* The plan's times in nanoseconds, its seed, whether Nagle's algorithm is off. `began` is the instant 0. */
extern nanoseconds began, length, warmup;
extern uint64_t seed;
extern int no_delay;
extern const char *const results;

#endif
