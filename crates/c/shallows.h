/* The C interface of Shallows: a network from an experiment, whose messages a program sends.
 *
 *     shallows *net = shallows_new(text, error, sizeof error);
 *     shallows_send(net, 0, 1, 1000000, 7, arrived, &request);
 *     shallows_run(net, UINT64_MAX);
 *
 * Times are in ps, amounts of data in bytes. Hosts have the numbers 0 to shallows_hosts() - 1, in the order of the network.
 * One thread uses a network at a time, and calls no function of it while shallows_run works, but from the functions that
 * shallows_run calls. The same calls give the same times and tables on each machine.
 */
#ifndef SHALLOWS_H
#define SHALLOWS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct shallows shallows;

/* A function of the program, called by shallows_run at the time of what it waits for. It may send, receive and schedule. */
typedef void (*shallows_function)(void *argument);

/* What shallows_run returns. The others return SHALLOWS_DONE or SHALLOWS_FAILED. */
enum {
    SHALLOWS_DONE = 0,    /* all that was asked for has happened */
    SHALLOWS_REACHED = 1, /* the time was reached first */
    SHALLOWS_OVER = 2,    /* the experiment's duration is over; shallows_under_way and shallows_waiting tell what is left */
    SHALLOWS_FAILED = -1  /* shallows_error has the reason */
};

/* A network from the text of an experiment, in TOML or JSON, with or without loads of its own. Null for a faulty one; then
 * error, of size bytes, has all faults, a line each. Memory is not bounded: shallows_new takes what the experiment needs. */
shallows *shallows_new(const char *experiment, char *error, size_t size);
void shallows_free(shallows *);

uint32_t shallows_hosts(const shallows *);
const char *shallows_host(const shallows *, uint32_t host); /* its name; null without such a host */
uint64_t shallows_host_rate(const shallows *, uint32_t host); /* bit/s of the links that leave it; 0 without such a host */
uint64_t shallows_now(const shallows *);

/* Sends a message. done, if any, is called when its last byte has arrived, not when it has left. Messages of a pair share
 * a connection, in order. The experiment's transport carries them. */
int shallows_send(const shallows *, uint32_t src, uint32_t dst, uint64_t bytes, uint64_t tag, shallows_function done,
                  void *argument);

/* Waits for a message of as many bytes from src with this tag. Receives of one tag are matched in order, also with
 * messages that have arrived already. Another number of bytes ends the run with an error. */
int shallows_recv(const shallows *, uint32_t dst, uint32_t src, uint64_t bytes, uint64_t tag, shallows_function done,
                  void *argument);

/* Calls a function after a time. Equal times keep the order of asking. */
int shallows_schedule(const shallows *, uint64_t after_ps, shallows_function function, void *argument);

/* Runs until all has happened that was sent and scheduled, or until a time. May be called again. */
int shallows_run(const shallows *, uint64_t until_ps);

uint64_t shallows_under_way(const shallows *); /* messages that were sent and have not arrived */
uint64_t shallows_waiting(const shallows *);   /* receives for which no message has come */
const char *shallows_error(const shallows *);  /* stands until the next error */

/* Counts of the run so far as JSON, and the hash of all its tables as `./shallows run --json` prints it. A text
 * stands until it is asked for again; null while the network runs. */
const char *shallows_counts(const shallows *);
const char *shallows_tables_hash(const shallows *);

#ifdef __cplusplus
}
#endif

#endif
