"""One runner for each runtime: each imports its own and no other, in a process of its own."""
