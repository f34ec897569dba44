"""What a neural network costs before it is shipped."""
