"""Attention mechanisms, twice: plain NumPy in `attnkit.numpy`, differentiable in `attnkit.torch`."""
