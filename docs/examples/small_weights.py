"""Writes small_weights.safetensors: three layers of random weights, as a training might leave them."""

import numpy as np
from safetensors.numpy import save_file

random = np.random.default_rng(2016)
sizes = {"conv1": (32, 3, 5, 5), "conv2": (64, 32, 5, 5), "fc": (10, 1024)}
tensors = {}
for name, size in sizes.items():
    tensors[f"{name}.weight"] = (random.standard_normal(size) / np.sqrt(np.prod(size[1:]))).astype(np.float32)
    tensors[f"{name}.bias"] = np.zeros(size[0], np.float32)
save_file(tensors, "small_weights.safetensors")
