/* The guest: process 1 of the virtual machine. It builds the network that a plan describes, sends the traffic and
 * samples what happens, in one process and one loop, since work takes no virtual time here. */
#ifndef GUEST_H
#define GUEST_H

#include "base.h"

#include <netinet/in.h>
#include <sys/types.h>

/* commands.c */
void run_program(char *line);
void tell_settings(char *line);
void set_sysctl(char *line);
void tell_changed_sysctls(void);
void set_parameter(char *words);
void tell_offers(char *words);
void write_file(char *words, FILE *plan);

/* configure.c */
void add_step(char *words);
void add_adaptive(char *words);
void change_shaper(char *words);
void change_limit(char *words);
void add_attributes(char *words);

/* wires.c */
void add_wire(char *words);
void change_wire(char *words);
void cut_wire(char *words);
void add_hold(char *words);
void add_law(char *words);
void add_jitter(char *words);
void add_bits(char *words);

/* changes.c: of links, during the run */
void add_change(char *words);
nanoseconds changes_due(void);
void changes_wake(nanoseconds at);

/* rebinding.c: NATs of hosts */
void rebind(char *words);
void rebindings_write(void);
/* meters.c: policers */
void verify_meter(char *words);
int has_action(const char *name);

/* following.c: links whose rate follows a trace */
void add_piece(char *words);
void add_follower(char *words);
void followers_start(void);
nanoseconds followers_due(void);
void followers_wake(nanoseconds at);

/* qdisc.c */
void add_queue(char *words);
void queues_start(void);
void wire_ends(int node, const char *device); /* a wire is made anew: its counts so far are kept */
void sample_queues(nanoseconds at);
void trace_ports(nanoseconds at);
void count_queues(void);
void write_queues(void);

/* classes.c */
void add_class(char *words);
void add_arrivals(char *words);
int service_of_load(int load); /* the type of service of its packets */
void classes_start(void);
void trace_classes(nanoseconds at);
void classes_write(void);

/* traffic.c: what the plan says, and what the loop calls */
void add_host(char *words);
void add_control(char *words);
void expect_connections(int host); /* a connection is to end there */
void add_connection(char *words);
void add_message(char *words);
int of_traffic(uint32_t source, int source_port, uint32_t destination, int destination_port); /* a connection of the plan's */
void traffic_start(void);
nanoseconds traffic_due(void);
void traffic_wake(nanoseconds at);
void traffic_ready(void *what, uint32_t events);
void set_receive_window(char *words);
void expect_of_connections(char *words);
int send_message(int connection, int64_t bytes, int round);
int open_connection(int load, int from, int to, int control, nanoseconds at);

/* flows.c */
void flows_start(void);
void flows_warm(void);
void flows_sample(nanoseconds at, int write);
void flows_write(void);
long timeouts_of_load(int load); /* -1 where the kernel does not count them */

void add_segments(char *words);
void traffic_stop(void);
int node_of_host(int host);
struct in_addr address_of_host(int host);

/* datagrams.c */
void add_datagrams(char *words);
void add_emission(char *words);
void set_drain(char *words);
void datagrams_start(void);
int of_datagrams(uint32_t source, int source_port, uint32_t destination, int destination_port);
nanoseconds datagrams_due(void);
void datagrams_wake(nanoseconds at);
void datagrams_ready(void *what);
void datagrams_warm(void);
void datagrams_sample(nanoseconds at);
void datagrams_end(void);
void datagrams_drain(void (*turn)(nanoseconds until));
void datagrams_write(void);

/* rounds.c: closed loops */
void add_rounds(char *words);
void add_worker(char *words);
nanoseconds rounds_due(void);
void rounds_wake(nanoseconds at);
void rounds_delivered(int tag, nanoseconds at, int connection);
void rounds_write(void);

/* programs.c: programs of the host machine */
void add_variable(char *words);
void set_directory(char *words);
void add_program(char *words, FILE *plan);
void set_terminal(char *words);
int programs_any(void);
int programs_terminal(void); /* whether one is at the machine's terminal, in real time */
void programs_start(void);
void program_output(void *what);
void programs_reap(void);
int programs_over(void); /* whether there were programs to wait for, and all have ended */
void programs_stop(void (*turn)(nanoseconds until));

/* orphans.c: what they leave behind */
void orphans_tell(int (*runs)(pid_t session, pid_t top));
void signal_processes(int number);

/* exchanges.c: their flows */
void add_tap(char *words);
void add_counters(char *words);
nanoseconds counters_due(void);
void exchanges_take(void);
void exchanges_trace(nanoseconds at);
void counters_take(nanoseconds at);
void exchanges_write(void);

/* hosts.c: the files that they see */
void keep_all(char *words);
void quiet_node(char *words);
void hosts_write(void);

/* capture.c */
void add_capture(char *words);
void captures_start(void);
void capture_take(void *what);
void captures_flush(void);
void captures_write(void);

#endif
