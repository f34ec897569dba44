"""The local web app: simulators whose every figure the core computes, each with its state in the address and a twin in JSON."""
