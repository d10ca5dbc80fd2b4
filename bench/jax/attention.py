"""One head of causal attention: the gradients of half the square of its output by queries, keys and values."""
import math

import jax
import jax.numpy as jnp
import numpy as np

from splitmix import initial_values

CHANNELS = 64


class Model:
    def __init__(self, size, dtype):
        self.positions, self.dtype = int(size), dtype

    def initial(self):
        shape = (self.positions, CHANNELS)
        values = initial_values([(name, shape, 0, math.sqrt(12)) for name in "qkv"], 3, self.dtype)
        return dict(values=values, gradients={name: np.zeros(shape, self.dtype) for name in "qkv"})

    def loss(self, values):
        q, k, v = (values[name] for name in "qkv")
        s = q @ k.T * (1 / math.sqrt(CHANNELS))
        s = jnp.where(jnp.tril(jnp.ones(s.shape, bool)), s, -jnp.inf)
        o = jax.nn.softmax(s, axis=-1) @ v
        return 0.5 * (o * o).sum()

    def step(self, state):
        return dict(state, gradients=jax.grad(self.loss)(state["values"]))

    def results(self, state):
        return state["gradients"]
