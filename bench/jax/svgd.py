"""Stein's update of N particles in three dimensions over near pairs of leaves (examples/svgd), and the gradient of the sum of its
squares by the positions: one evaluation of the kernel per unordered pair, matrices of pairs of particles only, products for the
sums, a closed-form reverse pass, over chunks of pairs of leaves that fit a budget. The fastest form for JAX of four that were tried.
"""
import jax
import jax.numpy as jnp
import numpy as np

LEAF, THETA, BANDWIDTH, AXES = 32, 0.5, 0.5, 3
DEFAULT_BUDGET = 256 << 20  # bytes of a chunk's largest array


def particles(count):
    """A normal cloud of standard deviation 1.2, drawn in f64 from key 0."""
    with jax.enable_x64(True):
        return np.asarray(jax.random.normal(jax.random.PRNGKey(0), (count, AXES), dtype=jnp.float64)) * 1.2


def morton_order(x):
    bits = min(21, 63 // x.shape[1])
    low, high = x.min(axis=0), x.max(axis=0)
    q = np.minimum(np.floor((x - low) / np.where(high > low, high - low, 1.0) * float(1 << bits)), (1 << bits) - 1).astype(np.uint64)
    code = np.zeros(len(x), dtype=np.uint64)
    for bit in range(bits - 1, -1, -1):
        for axis in range(x.shape[1]):
            code = (code << np.uint64(1)) | ((q[:, axis] >> np.uint64(bit)) & np.uint64(1))
    return np.argsort(code, kind="stable")


def near_pairs(x):
    """Pairs a < b of leaves of Morton-ordered particles that no level of the tree holds apart."""
    start = np.arange(0, len(x), LEAF)
    low, high = np.minimum.reduceat(x, start, axis=0), np.maximum.reduceat(x, start, axis=0)
    levels = [(low, high)]
    while len(low) > 1:
        pair = np.arange(0, len(low), 2)
        low, high = np.minimum.reduceat(low, pair, axis=0), np.maximum.reduceat(high, pair, axis=0)
        levels.append((low, high))
    a = b = np.zeros(1, dtype=np.int64)
    for low, high in reversed(levels[:-1]):
        a, b = (np.concatenate(side) for side in ([2 * a, 2 * a, 2 * a + 1, 2 * a + 1], [2 * b, 2 * b + 1, 2 * b, 2 * b + 1]))
        inside = (a <= b) & (b < len(low))
        a, b = a[inside], b[inside]
        centre, radius = 0.5 * (low + high), 0.5 * np.sqrt(((high - low) ** 2).sum(1))
        square = ((centre[a] - centre[b]) ** 2).sum(1)
        near = ~(((radius[a] + radius[b]) ** 2 <= THETA**2 * square) & (square > 0))
        a, b = a[near], b[near]
    apart = a < b
    order = np.lexsort((b[apart], a[apart]))
    return a[apart][order].astype(np.int32), b[apart][order].astype(np.int32)


def kernel(xa, xb, ma, mb, w):
    square = sum((xa[:, :, None, c] - xb[:, None, :, c]) ** 2 for c in range(AXES))
    return jnp.exp(-0.5 * w * square) * ma[:, :, None] * mb[:, None, :]


def update(xa, xb, sa, sb, ma, mb, w):
    """What b does to a, and a to b."""
    k = kernel(xa, xb, ma, mb, w)
    to_a = jnp.einsum("pij,pjc->pic", k, sb - w * xb) + w * xa * jnp.sum(k, 2)[..., None]
    to_b = jnp.einsum("pij,pic->pjc", k, sa - w * xa) + w * xb * jnp.sum(k, 1)[..., None]
    return to_a, to_b


def reverse(xa, xb, sa, sb, ga, gb, ma, mb, w):
    """The cotangents of xa and xb for those of the update, by products with two matrices of pairs."""
    k = kernel(xa, xb, ma, mb, w)
    left, right = jnp.concatenate([ga, sa - w * xa], -1), jnp.concatenate([sb - w * xb, gb], -1)
    t = jnp.einsum("pic,pjc->pij", left, right) + w * (jnp.sum(ga * xa, -1)[:, :, None] + jnp.sum(gb * xb, -1)[:, None, :])
    kt = k * t
    one = jnp.ones_like(ga[..., :1])
    ka = jnp.einsum("pij,pjc->pic", k, jnp.concatenate([gb, one], -1))
    kb = jnp.einsum("pij,pic->pjc", k, jnp.concatenate([ga, one], -1))
    ta = jnp.einsum("pij,pjc->pic", kt, jnp.concatenate([xb, one], -1))
    tb = jnp.einsum("pij,pic->pjc", kt, jnp.concatenate([xa, one], -1))
    cotangent = lambda g, k, x, t: w * (g * k[..., AXES:] - k[..., :AXES] - x * t[..., AXES:] + t[..., :AXES])
    return cotangent(ga, ka, xa, ta), cotangent(gb, kb, xb, tb)


class Model:
    def __init__(self, size, dtype, budget=None):
        count, _, self.what = size.partition("-")
        self.count, self.dtype, self.budget = int(count), dtype, budget or DEFAULT_BUDGET
        self.leaves = -(-self.count // LEAF)

    def initial(self):
        x = particles(self.count)
        order = morton_order(x)
        a, b = near_pairs(x[order])
        self.chunk = max(1, min(len(a), self.budget // (LEAF * LEAF * np.dtype(self.dtype).itemsize * AXES)))
        padding = -len(a) % self.chunk
        chunked = lambda rows: np.pad(rows, (0, padding)).reshape(-1, self.chunk)
        mask = (np.arange(self.leaves * LEAF) < self.count).reshape(self.leaves, LEAF)
        return dict(x=x.astype(self.dtype), s=(-x).astype(self.dtype), order=order, mask=mask.astype(self.dtype), a=chunked(a), b=chunked(b),
                    live=chunked(np.ones(len(a), self.dtype)), result=np.zeros_like(x, self.dtype))

    def blocked(self, state, values):
        padded = jnp.pad(values[state["order"]], ((0, self.leaves * LEAF - self.count), (0, 0)))
        return padded.reshape(self.leaves, LEAF, AXES)

    def near(self, state):
        """The update before its division by the number of particles, by leaf."""
        mask, w = state["mask"], jnp.asarray(1 / (BANDWIDTH * BANDWIDTH), self.dtype)
        pairs = (state["a"], state["b"], state["live"])

        @jax.custom_vjp
        def run(x, s):
            def step(sums, pair):
                a, b, live = pair
                to_a, to_b = update(x[a], x[b], s[a], s[b], mask[a] * live[:, None], mask[b], w)
                return sums.at[a].add(to_a).at[b].add(to_b), None
            own, _ = update(x, x, s, s, mask, mask, w)
            return jax.lax.scan(step, own, pairs)[0] * mask[..., None]

        def backward(saved, g):
            x, s = saved
            g = g * mask[..., None]

            def step(sums, pair):
                a, b, live = pair
                to_a, to_b = reverse(x[a], x[b], s[a], s[b], g[a], g[b], mask[a] * live[:, None], mask[b], w)
                return sums.at[a].add(to_a).at[b].add(to_b), None
            to_a, to_b = reverse(x, x, s, s, g, g, mask, mask, w)  # a leaf holds each pair twice
            return jax.lax.scan(step, 0.5 * (to_a + to_b), pairs)[0], None

        run.defvjp(lambda x, s: (run(x, s), (x, s)), backward)
        return run

    def phi(self, state, x):
        sums = self.near(state)(self.blocked(state, x), self.blocked(state, state["s"]))
        flat = sums.reshape(-1, AXES)[:self.count] / self.count
        return jnp.zeros_like(flat).at[state["order"]].set(flat, unique_indices=True)

    def step(self, state):
        if self.what == "forward":
            return dict(state, result=self.phi(state, state["x"]))
        return dict(state, result=jax.grad(lambda x: jnp.sum(self.phi(state, x) ** 2))(state["x"]))

    def results(self, state):
        return dict(result=state["result"])
