"""Front ends: each makes a ``Graph`` from one kind of source."""
