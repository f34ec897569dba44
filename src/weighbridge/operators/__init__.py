"""One record an operator: its operands, shapes, work, bytes and storage; every front end maps onto these."""
