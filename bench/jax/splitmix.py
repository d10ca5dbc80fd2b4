"""The initial values of every benchmark: the same stream of integers, and so the same bits, as examples/gpt/gpt_data.cc."""
import math

import numpy as np


def splitmix64(state, first, count):
    """Outputs first, first + 1, ... of the SplitMix64 stream that starts in `state`."""
    k = np.arange(first + 1, first + 1 + count, dtype=np.uint64)
    z = np.uint64(state) + k * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def initial_values(specs, seed, dtype):
    """{name: array} of specs (name, shape, centre, width): uniform on centre +- width / 2, one stream over all in order."""
    values, first = {}, 0
    for name, shape, centre, width in specs:
        count = math.prod(shape)
        uniform = (splitmix64(seed, first, count) >> np.uint64(11)).astype(np.float64) * 2.0 ** -53
        values[name] = (centre + (uniform - 0.5) * width).reshape(shape).astype(dtype)
        first += count
    return values
