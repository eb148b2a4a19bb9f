"""The search for conditions under which a metric is as bad as can be: `./shallows attack`."""
