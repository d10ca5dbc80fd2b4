"""The GPT of examples/models/gpt_tied.sql: an SGD step that updates every parameter."""
import math
import pathlib

import jax
import jax.numpy as jnp
import numpy as np

from splitmix import initial_values, splitmix64

SIZES = {  # layers, heads, channels, context, batch
    "small": (1, 2, 16, 16, 4),
    "base": (1, 4, 128, 64, 12),
    "deep": (6, 6, 384, 128, 8),
}
LEARNING_RATE = 0.1


def size_by_name(name):
    """One of SIZES, or `layers-N`: N small layers, whose compilation is what counts."""
    return SIZES[name] if name in SIZES else (int(name.removeprefix("layers-")), 4, 64, 32, 4)


TEXT = pathlib.Path(__file__).resolve().parents[2] / "examples" / "gpt" / "data" / "text.txt"


def read_batch(rows, context):
    """The tokens and targets of step 0, and how many characters there are."""
    raw = np.frombuffer(TEXT.read_bytes(), np.uint8)
    vocabulary, ids = np.unique(raw, return_inverse=True)
    train = ids[: len(ids) * 9 // 10].astype(np.int32)
    at = (splitmix64(2, 0, rows) >> np.uint64(11)) % np.uint64(len(train) - context)
    chunk = train[at.astype(np.int64)[:, None] + np.arange(context + 1)]
    return chunk[:, :-1].copy(), chunk[:, 1:].copy(), len(vocabulary)


def norm(a, g):
    d = a - a.mean(-1, keepdims=True)
    return d * jax.lax.rsqrt((d * d).mean(-1, keepdims=True) + 1e-5) * g


def gelu(u):
    return 0.5 * u * (1 + jnp.tanh(math.sqrt(2 / math.pi) * (u + 0.044715 * u * u * u)))


class Model:
    def __init__(self, size, dtype):
        self.layers, self.heads, self.channels, self.context, rows = size_by_name(size)
        self.dtype = dtype
        self.tokens, self.targets, self.vocabulary = read_batch(rows, self.context)

    def initial(self):
        c, h, f = self.channels, self.heads, 4 * self.channels
        d = c // h
        by_channels, by_hidden = c ** -0.5 * math.sqrt(12), f ** -0.5 * math.sqrt(12)
        specs = [("wte", (self.vocabulary, c), 0, by_channels), ("wpe", (self.context, c), 0, by_channels)]
        for l in range(self.layers):
            specs += [(f"h{l}_ln_1", (c,), 1, 0.5), (f"h{l}_wq", (c, h, d), 0, by_channels),
                      (f"h{l}_wk", (c, h, d), 0, by_channels), (f"h{l}_wv", (c, h, d), 0, by_channels),
                      (f"h{l}_wo", (h, d, c), 0, by_channels), (f"h{l}_ln_2", (c,), 1, 0.5),
                      (f"h{l}_w_fc", (c, f), 0, by_channels), (f"h{l}_w_proj", (f, c), 0, by_hidden)]
        parameters = initial_values(specs + [("ln_f", (c,), 1, 0.5)], 1, self.dtype)
        return dict(p=parameters, x=self.tokens, y=self.targets)

    def loss(self, p, x, y):
        # Rows (b, t) stay flattened between the attention products: XLA's CPU back end then multiplies plain matrices. A
        # residual stream of three dimensions takes 1.2 times as long in f32 and 1.6 times in f64 at the base size.
        rows, t, h, c = x.shape[0], self.context, self.heads, self.channels
        mask = jnp.tril(jnp.ones((t, t), bool))
        r = (p["wte"][x] + p["wpe"]).reshape(-1, c)
        for l in range(self.layers):
            n = norm(r, p[f"h{l}_ln_1"])
            q, k, v = ((n @ p[f"h{l}_{w}"].reshape(c, c)).reshape(rows, t, h, c // h).transpose(0, 2, 1, 3)
                       for w in ("wq", "wk", "wv"))
            s = jnp.einsum("bhid,bhjd->bhij", q, k) * (1 / math.sqrt(c // h))
            a = jax.nn.softmax(jnp.where(mask, s, -jnp.inf), axis=-1)
            o = jnp.einsum("bhij,bhjd->bhid", a, v)
            r = r + o.transpose(0, 2, 1, 3).reshape(-1, c) @ p[f"h{l}_wo"].reshape(c, c)
            r = r + gelu(norm(r, p[f"h{l}_ln_2"]) @ p[f"h{l}_w_fc"]) @ p[f"h{l}_w_proj"]
        z = norm(r, p["ln_f"]) @ p["wte"].T
        return (jax.nn.logsumexp(z, -1) - jnp.take_along_axis(z, y.reshape(-1, 1), -1)[:, 0]).mean()

    def step(self, state):
        g = jax.grad(self.loss)(state["p"], state["x"], state["y"])
        return dict(state, p={name: p - jnp.asarray(LEARNING_RATE, p.dtype) * g[name] for name, p in state["p"].items()})

    def results(self, state):
        return state["p"]
