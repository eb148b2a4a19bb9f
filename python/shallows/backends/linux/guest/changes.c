/* Changes of links at their times. */
#include "guest.h"

#include <stdlib.h>
#include <string.h>

struct change {
	nanoseconds at;
	void (*make)(char *words);
	char *words;
};

static struct change *changes;
static size_t change_count, change_next;

/* change AT_NS WHAT WORDS, in the order of their times */
void add_change(char *words)
{
	static const struct { const char *name; void (*make)(char *words); } KNOWN[] = {
		{ "wire", change_wire }, { "cut", cut_wire }, { "hold", add_hold }, { "jitter", add_jitter },
		{ "bits", add_bits },
		{ "shape", change_shaper }, { "limit", change_limit }, { "rebind", rebind },
	};
	char what[16];
	long long at;
	int used;

	if (sscanf(words, "%lld %15s %n", &at, what, &used) != 2)
		fail("change: %s", words);
	for (size_t i = 0; i < sizeof KNOWN / sizeof *KNOWN; i++)
		if (!strcmp(what, KNOWN[i].name)) {
			ROOM(changes, change_count);
			changes[change_count] = (struct change){ at, KNOWN[i].make, strdup(words + used) };
			if (!changes[change_count++].words)
				fail("out of memory for a change");
			return;
		}
	fail("change: %s is unknown", what);
}

nanoseconds changes_due(void)
{
	return change_next < change_count ? changes[change_next].at : NEVER;
}

void changes_wake(nanoseconds at)
{
	for (; change_next < change_count && changes[change_next].at <= at; change_next++)
		changes[change_next].make(changes[change_next].words);
}
