"""The stopwatch: what a network takes where it runs, under conditions that are part of the record; it knows no estimate."""
