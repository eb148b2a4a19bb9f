/* Programs of the host machine, and the files that their hosts see. */
#ifndef PROGRAMS_H
#define PROGRAMS_H

#include "guest.h"

/* hosts.c */
void prepare_host(int node); /* its files, once */
void enter_host(int node, const char *name); /* in a child, for good: its network, name and files, few privileges */

#endif
