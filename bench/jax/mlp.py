"""The perceptron of examples/models/mlp.sql: an SGD step on 128 images of 784 pixels."""
import math

import jax
import jax.numpy as jnp
import numpy as np

from splitmix import initial_values

IMAGES, PIXELS, HIDDEN, CLASSES = 128, 784, 128, 10
LEARNING_RATE = 0.1


class Model:
    def __init__(self, size, dtype):
        self.dtype = dtype

    def initial(self):
        width = math.sqrt(12)
        values = initial_values([("w1", (PIXELS, HIDDEN), 0, width / 28), ("b1", (HIDDEN,), 0, 0.1),
                                 ("w2", (HIDDEN, CLASSES), 0, width / 11), ("b2", (CLASSES,), 0, 0.1),
                                 ("x", (IMAGES, PIXELS), 0.5, 1)], 4, self.dtype)
        classes = ((7 * np.arange(IMAGES) + 3) % CLASSES).astype(np.int32)
        return dict(x=values.pop("x"), y=classes, p=values)

    def loss(self, p, x, y):
        z = jnp.tanh(x @ p["w1"] + p["b1"]) @ p["w2"] + p["b2"]
        return (jax.nn.logsumexp(z, -1) - jnp.take_along_axis(z, y[:, None], 1)[:, 0]).mean()

    def step(self, state):
        g = jax.grad(self.loss)(state["p"], state["x"], state["y"])
        return dict(state, p={name: p - jnp.asarray(LEARNING_RATE, p.dtype) * g[name] for name, p in state["p"].items()})

    def results(self, state):
        return state["p"]
