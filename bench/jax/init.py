"""Random tables of a decomposed model: for each of 7 weights in each of L layers V (d_in, C) and U (C, d_out), standard normal
times d_in^-1/2 and C^-1/2. The fastest way to have JAX make them: one draw a shape, stacked, then a program that slices.
"""
import jax
import jax.numpy as jnp
import numpy as np

SCALE = 16  # of the full sizes
FULL = dict(q=(4096, 4096, 6144), k=(4096, 1024, 2048), v=(4096, 1024, 3072), o=(4096, 4096, 4096), gate=(4096, 14336, 8192),
            up=(4096, 14336, 10240), down=(14336, 4096, 12288))  # d_in, d_out, C


class Model:
    def __init__(self, size, dtype):
        self.layers, self.dtype = int(size), dtype
        self.sites = [(f"h{layer}_{name}", *(n // SCALE for n in full)) for layer in range(self.layers) for name, full in FULL.items()]
        self.groups = {}
        for i, (_, *shape) in enumerate(self.sites):
            self.groups.setdefault(tuple(shape), []).append(i)

    def initial(self):
        return dict(key=np.zeros(2, np.uint32), tables={})

    def again(self, state):
        return dict(state, tables={})

    def draw(self, state):
        keys = jax.random.split(state["key"], 2 * len(self.sites))
        stacks = []
        for (d_in, d_out, c), sites in self.groups.items():
            at = jnp.asarray(sites)
            many = lambda shape: jax.vmap(lambda key: jax.random.normal(key, shape, self.dtype))
            stacks.append((many((d_in, c))(keys[2 * at]) * d_in**-0.5, many((c, d_out))(keys[2 * at + 1]) * c**-0.5))
        return dict(key=state["key"], stacks=stacks)

    def slice(self, state):
        tables = {}
        for (v, u), sites in zip(state["stacks"], self.groups.values()):
            for slot, i in enumerate(sites):
                tables[self.sites[i][0] + "_v"], tables[self.sites[i][0] + "_u"] = v[slot], u[slot]
        return dict(key=state["key"], tables=tables)

    def stages(self):
        return [self.draw, self.slice]

    def results(self, state):
        """Those of the first and the last layer."""
        names = [f"{site}_{table}" for site, *_ in self.sites[:len(FULL)] + self.sites[-len(FULL):] for table in "vu"]
        return {name: state["tables"].get(name, np.zeros(1, self.dtype)) for name in names}
