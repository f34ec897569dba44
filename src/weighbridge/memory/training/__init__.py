"""What training a network takes beside running it: gradients, states of the optimiser, and what is kept for the backward pass."""
