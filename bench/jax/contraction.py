"""One product of bench/products.txt, or MxNxK."""
import pathlib
import re

import jax.numpy as jnp
import numpy as np

from splitmix import initial_values

PRODUCTS = pathlib.Path(__file__).resolve().parents[1] / "products.txt"


def product(name):
    """How many at once, the extents of m, n and k, and the layouts."""
    if found := re.fullmatch(r"(\d+)x(\d+)x(\d+)", name):
        return 1, dict(zip("mnk", map(int, found.groups()))), "nn"
    for line in PRODUCTS.read_text().splitlines():
        if line.split()[:1] == [name]:
            count, *extents, layouts = line.split()[1:]
            return int(count), dict(zip("mnk", map(int, extents))), layouts
    raise ValueError(f"not MxNxK, nor a name of {PRODUCTS.name}: {name}")


class Model:
    def __init__(self, size, dtype):
        self.dtype = dtype
        self.count, self.extents, layouts = product(size)
        left, right = dict(nn=("mk", "kn"), nt=("mk", "nk"), tn=("km", "kn"))[layouts]
        self.dims = [("z" if self.count > 1 else "") + dims for dims in (left, right, "mn")]

    def initial(self):
        extents = dict(self.extents, z=self.count)
        left, right, out = (tuple(extents[dim] for dim in dims) for dims in self.dims)
        values = initial_values([("a", left, 0.5, 1), ("b", right, 0.5, 1)], 5, self.dtype)
        return dict(values, result=np.zeros(out, self.dtype))

    def step(self, state):
        left, right, out = self.dims
        return dict(state, result=jnp.einsum(f"{left},{right}->{out}", state["a"], state["b"]))

    def results(self, state):
        return dict(result=state["result"])
