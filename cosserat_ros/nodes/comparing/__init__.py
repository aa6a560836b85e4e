"""Parts of the comparator node."""
