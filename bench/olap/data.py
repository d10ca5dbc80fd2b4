"""Deterministic data sets of the OLAP benchmarks.

Every column is drawn from its own PCG64 stream, seeded by (seed, table, column),
so a column never depends on which other columns or tables were generated.

Each table becomes a folder OUT/<set>/<table>/ with

  schema.json          row count and, per column, name, type, file names, checksum
  <col>.npy            numbers (int32, int64, float64) and dates (int32, days since 1970-01-01)
  <col>.codes.npy      int32 dictionary codes of a string column
  <col>.dict.txt       its dictionary, one UTF-8 string a line, code = line number from 0

Only numpy is needed.
"""
import json
import os
import zlib

import numpy as np

SEED = 20240601


def rng(*name):
    words = [SEED] + [zlib.crc32(str(n).encode()) for n in name]
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(words)))


def nname(n):
    """1e7 -> '1e7', 250000 -> '250000'."""
    n = int(n)
    e = len(str(n)) - 1
    return f"1e{e}" if n == 10 ** e else str(n)


class Table:
    """Collects columns, writes them and their schema."""

    def __init__(self, out, setname, table):
        self.dir = os.path.join(out, setname, table)
        os.makedirs(self.dir, exist_ok=True)
        self.table, self.cols, self.rows = table, [], None

    def _note(self, n, entry):
        assert self.rows in (None, n), (self.table, entry["name"], self.rows, n)
        self.rows = n
        self.cols.append(entry)

    def num(self, name, a, typ=None):
        a = np.ascontiguousarray(a)
        assert a.dtype in (np.int32, np.int64, np.float64), a.dtype
        f = f"{name}.npy"
        np.save(os.path.join(self.dir, f), a)
        self._note(len(a), dict(name=name, type=typ or str(a.dtype), file=f, crc32=zlib.crc32(a)))
        return a

    def date(self, name, a):
        return self.num(name, np.asarray(a, np.int32), "date32")

    def text(self, name, codes, words):
        """codes: int array into words (a list of str)."""
        codes = np.ascontiguousarray(codes, np.int32)
        f, d = f"{name}.codes.npy", f"{name}.dict.txt"
        np.save(os.path.join(self.dir, f), codes)
        with open(os.path.join(self.dir, d), "w", encoding="utf-8") as h:
            h.write("\n".join(words))
            h.write("\n")
        self._note(len(codes), dict(name=name, type="string", file=f, dict=d, dict_size=len(words),
                                    crc32=zlib.crc32(codes)))

    def done(self):
        with open(os.path.join(self.dir, "schema.json"), "w") as h:
            json.dump(dict(table=self.table, rows=int(self.rows), columns=self.cols), h, indent=1)


# ---------------------------------------------------------------- db-benchmark group-by table
def gen_groupby(out, n, k=100):
    """G1: n rows, k groups in the small keys, n/k in the large ones, unsorted, no nulls."""
    n = int(n)
    big = n // k
    s = f"h2o_groupby_{nname(n)}"
    t = Table(out, s, "x")
    for c, m, w in (("id1", k, 3), ("id2", k, 3), ("id3", big, 10)):
        codes = rng(s, c).integers(0, m, n, dtype=np.int32)
        t.text(c, codes, [f"id{i:0{w}d}" for i in range(1, m + 1)])
    for c, m in (("id4", k), ("id5", k), ("id6", big), ("v1", 5), ("v2", 15)):
        t.num(c, rng(s, c).integers(1, m + 1, n, dtype=np.int32))
    t.num("v3", np.round(rng(s, "v3").random(n) * 100.0, 6))
    t.done()


# ---------------------------------------------------------------- db-benchmark join tables
def key_split(name, m):
    """Keys of the two sides for a level of m keys: 90 % shared, 10 % private to each side."""
    u = rng(name, "universe").permutation(int(round(m * 1.1))).astype(np.int32) + 1
    c = int(round(m * 0.9))
    p = m - c
    return np.concatenate([u[:c], u[c:c + p]]), np.concatenate([u[:c], u[c + p:c + 2 * p]])


def fill(g, keys, n):
    """n draws from keys, each key at least once when n allows, shuffled."""
    if n <= len(keys):
        return g.permutation(keys)[:n]
    a = np.concatenate([keys, g.choice(keys, n - len(keys))])
    g.shuffle(a)
    return a


def key_text(t, name, keys):
    """String twin 'id<key>' of an int key column, with a dictionary of the keys that occur."""
    u, inv = np.unique(keys, return_inverse=True)
    t.text(name, inv, [f"id{i}" for i in u.tolist()])


def gen_join(out, n):
    n = int(n)
    s = f"h2o_join_{nname(n)}"
    small, medium, big = max(n // 10 ** 6, 1), max(n // 10 ** 3, 1), n
    if n < 10 ** 7:
        small = max(small, 10)
    kx, kr = {}, {}
    for lvl, m in ((1, small), (2, medium), (3, big)):
        kx[lvl], kr[lvl] = key_split(f"{s}/{lvl}", m)

    def table(name, rows, levels, own, v):
        t = Table(out, s, name)
        cols = {}
        for lvl in levels:
            keys = (kx if name == "x" else kr)[lvl]
            g = rng(s, name, f"id{lvl}")
            if name != "x" and lvl == own:
                cols[lvl] = g.permutation(keys)          # the table's primary key
            else:
                cols[lvl] = fill(g, keys, rows)
            t.num(f"id{lvl}", cols[lvl].astype(np.int32))
        for lvl in levels:
            key_text(t, f"id{lvl + 3}", cols[lvl])
        t.num(v, np.round(rng(s, name, v).random(rows) * 100.0, 6))
        t.done()

    table("x", n, (1, 2, 3), None, "v1")
    table("small", small, (1,), 1, "v2")
    table("medium", medium, (1, 2), 2, "v2")
    table("big", big, (1, 2, 3), 3, "v2")


# ---------------------------------------------------------------- window tables
def zipf_ranks(g, n, m, s):
    """n draws of a rank in [0, m) with P(r) proportional to (r+1)^-s."""
    cdf = np.cumsum(np.arange(1, m + 1, dtype=np.float64) ** -s)
    cdf /= cdf[-1]
    return np.minimum(np.searchsorted(cdf, g.random(n)), m - 1).astype(np.int32)


def gen_window(out, n, groups=None):
    n = int(n)
    m = groups or max(n // 100, 1)
    for kind in ("uniform", "zipf"):
        s = f"window_{kind}_{nname(n)}"
        t = Table(out, s, "w")
        if kind == "uniform":
            g = rng(s, "g").integers(0, m, n, dtype=np.int32)
        else:
            perm = rng(s, "label").permutation(m).astype(np.int32)
            g = perm[zipf_ranks(rng(s, "g"), n, m, 1.1)]
        t.num("g", g)                                                  # partition key
        t.num("o", rng(s, "o").permutation(n).astype(np.int64))        # unique order key
        t.num("d", rng(s, "d").integers(0, 1000, n, dtype=np.int32))   # order key with ties
        t.num("v", np.round(rng(s, "v").random(n) * 100.0, 6))
        t.done()


# ---------------------------------------------------------------- TPC-H-like tables
EPOCH_1992 = 8035                   # 1992-01-01 in days since 1970-01-01
LAST_ORDER = 10440                  # 1998-08-02
CUT = 9298                          # 1995-06-17

WORDS = """almond amber apricot aqua azure beige bisque black blue blush bronze brown burgundy buff
cadet camel carmine cerise charcoal chestnut chocolate cobalt copper coral cream crimson cyan denim
ebony ecru eggshell emerald fawn fern flax forest fuchsia ginger gold granite gray green hazel heather
honey indigo iris ivory jade jasmine jet khaki lavender lemon lilac lime linen magenta mahogany maize
maroon mauve melon mint mocha moss mustard navy ochre olive onyx orange orchid papaya peach pearl pine
pink plum purple quartz red rose ruby rust saffron salmon sand sienna silver slate violet""".split()
assert len(WORDS) == 92 and len(set(WORDS)) == 92

NATIONS = [("ALGERIA", 0), ("ARGENTINA", 1), ("BRAZIL", 1), ("CANADA", 1), ("EGYPT", 4), ("ETHIOPIA", 0),
           ("FRANCE", 3), ("GERMANY", 3), ("INDIA", 2), ("INDONESIA", 2), ("IRAN", 4), ("IRAQ", 4),
           ("JAPAN", 2), ("JORDAN", 4), ("KENYA", 0), ("MOROCCO", 0), ("MOZAMBIQUE", 0), ("PERU", 1),
           ("CHINA", 2), ("ROMANIA", 3), ("SAUDI ARABIA", 4), ("VIETNAM", 2), ("RUSSIA", 3),
           ("UNITED KINGDOM", 3), ("UNITED STATES", 1)]
REGIONS = ["AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"]
SEGMENTS = ["AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY"]
PRIORITIES = ["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"]
MODES = ["AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK"]
INSTRUCT = ["COLLECT COD", "DELIVER IN PERSON", "NONE", "TAKE BACK RETURN"]
TYPES = [f"{a} {b} {c}" for a in ("ECONOMY", "LARGE", "MEDIUM", "PROMO", "SMALL", "STANDARD")
         for b in ("ANODIZED", "BRUSHED", "BURNISHED", "PLATED", "POLISHED")
         for c in ("BRASS", "COPPER", "NICKEL", "STEEL", "TIN")]
CONTAINERS = [f"{a} {b}" for a in ("JUMBO", "LG", "MED", "SM", "WRAP")
              for b in ("BAG", "BOX", "CAN", "CASE", "DRUM", "JAR", "PACK", "PKG")]
BRANDS = [f"Brand#{a}{b}" for a in range(1, 6) for b in range(1, 6)]


def cents(a):
    """Integer cents to a float64 amount; the nearest double to the two-digit decimal."""
    return np.asarray(a, np.int64) / 100.0


def gen_tpch(out, sf):
    s = f"tpch_{sf:g}"
    n_supp, n_part, n_cust, n_ord = (int(round(b * sf)) for b in (10_000, 200_000, 150_000, 1_500_000))

    t = Table(out, s, "region")
    t.num("r_regionkey", np.arange(5, dtype=np.int32))
    t.text("r_name", np.arange(5), REGIONS)
    t.done()

    t = Table(out, s, "nation")
    t.num("n_nationkey", np.arange(25, dtype=np.int32))
    t.text("n_name", np.arange(25), [n for n, _ in NATIONS])
    t.num("n_regionkey", np.array([r for _, r in NATIONS], np.int32))
    t.done()

    t = Table(out, s, "supplier")
    t.num("s_suppkey", np.arange(1, n_supp + 1, dtype=np.int32))
    t.text("s_name", np.arange(n_supp), [f"Supplier#{i:09d}" for i in range(1, n_supp + 1)])
    t.num("s_nationkey", rng(s, "s_nationkey").integers(0, 25, n_supp, dtype=np.int32))
    t.num("s_acctbal", cents(rng(s, "s_acctbal").integers(-99_999, 1_000_000, n_supp)))
    t.done()

    t = Table(out, s, "part")
    pk = np.arange(1, n_part + 1, dtype=np.int64)
    t.num("p_partkey", pk.astype(np.int32))
    w = np.argsort(rng(s, "p_name").random((n_part, 92)), axis=1)[:, :5]     # five distinct words
    names = [" ".join(map(WORDS.__getitem__, r)) for r in w.tolist()]
    words = sorted(set(names))
    at = {x: i for i, x in enumerate(words)}
    t.text("p_name", np.array([at[x] for x in names], np.int32), words)
    brand = rng(s, "p_brand").integers(0, 25, n_part, dtype=np.int32)
    t.text("p_mfgr", brand // 5, [f"Manufacturer#{i}" for i in range(1, 6)])
    t.text("p_brand", brand, BRANDS)
    t.text("p_type", rng(s, "p_type").integers(0, len(TYPES), n_part), TYPES)
    t.num("p_size", rng(s, "p_size").integers(1, 51, n_part, dtype=np.int32))
    t.text("p_container", rng(s, "p_container").integers(0, len(CONTAINERS), n_part), CONTAINERS)
    retail = 90_000 + (pk // 10) % 20_001 + 100 * (pk % 1000)                # cents, index = key - 1
    t.num("p_retailprice", cents(retail))
    t.done()

    def supp_of(part, i):
        """The i-th (0..3) of a part's four suppliers."""
        return (part + i * (n_supp // 4 + (part - 1) // n_supp)) % n_supp + 1

    t = Table(out, s, "partsupp")
    p4, i4 = np.repeat(pk, 4), np.tile(np.arange(4), n_part)
    t.num("ps_partkey", p4.astype(np.int32))
    t.num("ps_suppkey", supp_of(p4, i4).astype(np.int32))
    t.num("ps_availqty", rng(s, "ps_availqty").integers(1, 10_000, 4 * n_part, dtype=np.int32))
    t.num("ps_supplycost", cents(rng(s, "ps_supplycost").integers(100, 100_001, 4 * n_part)))
    t.done()

    t = Table(out, s, "customer")
    t.num("c_custkey", np.arange(1, n_cust + 1, dtype=np.int32))
    t.text("c_name", np.arange(n_cust), [f"Customer#{i:09d}" for i in range(1, n_cust + 1)])
    g = rng(s, "c_address")
    alpha = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ,0123456789", np.uint8)
    ln = g.integers(10, 41, n_cust)
    blob = alpha[g.integers(0, len(alpha), int(ln.sum()))].tobytes().decode()
    e = np.cumsum(ln)
    t.text("c_address", np.arange(n_cust), [blob[b - k:b] for b, k in zip(e.tolist(), ln.tolist())])
    nat = rng(s, "c_nationkey").integers(0, 25, n_cust, dtype=np.int32)
    t.num("c_nationkey", nat)
    g = rng(s, "c_phone")
    a, b, c = g.integers(100, 1000, n_cust), g.integers(100, 1000, n_cust), g.integers(1000, 10_000, n_cust)
    t.text("c_phone", np.arange(n_cust),
           [f"{n + 10}-{x}-{y}-{z}" for n, x, y, z in zip(nat.tolist(), a.tolist(), b.tolist(), c.tolist())])
    t.num("c_acctbal", cents(rng(s, "c_acctbal").integers(-99_999, 1_000_000, n_cust)))
    t.text("c_mktsegment", rng(s, "c_mktsegment").integers(0, 5, n_cust), SEGMENTS)
    g = rng(s, "c_comment")
    nw = g.integers(4, 16, n_cust)
    ws = g.integers(0, 92, int(nw.sum())).tolist()
    e = np.cumsum(nw).tolist()
    t.text("c_comment", np.arange(n_cust),
           [" ".join(map(WORDS.__getitem__, ws[b - k:b])) for b, k in zip(e, nw.tolist())])
    t.done()

    # orders and lineitem
    idx = np.arange(n_ord, dtype=np.int64)
    okey = ((idx // 8) * 32 + idx % 8 + 1).astype(np.int32)                  # 8 used keys in every 32
    odate = rng(s, "o_orderdate").integers(EPOCH_1992, LAST_ORDER + 1, n_ord, dtype=np.int32)
    lines = rng(s, "lines").integers(1, 8, n_ord)
    n_li = int(lines.sum())
    start = np.cumsum(lines) - lines
    row = np.repeat(idx, lines)                                              # order of each line
    part = rng(s, "l_partkey").integers(1, n_part + 1, n_li)
    supp = supp_of(part, rng(s, "l_suppkey").integers(0, 4, n_li))
    qty = rng(s, "l_quantity").integers(1, 51, n_li)
    ext = qty * retail[part - 1]                                             # cents
    disc = rng(s, "l_discount").integers(0, 11, n_li)                        # per cent
    tax = rng(s, "l_tax").integers(0, 9, n_li)
    ship = odate[row] + rng(s, "l_shipdate").integers(1, 122, n_li, dtype=np.int32)
    commit = odate[row] + rng(s, "l_commitdate").integers(30, 91, n_li, dtype=np.int32)
    receipt = ship + rng(s, "l_receiptdate").integers(1, 31, n_li, dtype=np.int32)
    back = rng(s, "l_returnflag").integers(0, 2, n_li)                       # A or R once received
    open_ = (ship > CUT).astype(np.int64)

    t = Table(out, s, "orders")
    t.num("o_orderkey", okey)
    g = rng(s, "o_custkey").integers(0, n_cust - n_cust // 3, n_ord)         # every third customer never orders
    t.num("o_custkey", (g // 2 * 3 + g % 2 + 1).astype(np.int32))
    n_open = np.add.reduceat(open_, start)
    t.text("o_orderstatus", np.where(n_open == 0, 0, np.where(n_open == lines, 1, 2)), ["F", "O", "P"])
    tot = np.add.reduceat(np.round(ext * (100 + tax) * (100 - disc) / 1e4).astype(np.int64), start)
    t.num("o_totalprice", cents(tot))
    t.date("o_orderdate", odate)
    t.text("o_orderpriority", rng(s, "o_orderpriority").integers(0, 5, n_ord), PRIORITIES)
    n_clerk = max(int(1000 * sf), 1)
    t.text("o_clerk", rng(s, "o_clerk").integers(0, n_clerk, n_ord),
           [f"Clerk#{i:09d}" for i in range(1, n_clerk + 1)])
    t.num("o_shippriority", np.zeros(n_ord, np.int32))
    t.done()

    t = Table(out, s, "lineitem")
    t.num("l_orderkey", okey[row])
    t.num("l_partkey", part.astype(np.int32))
    t.num("l_suppkey", supp.astype(np.int32))
    t.num("l_linenumber", (np.arange(n_li) - start[row] + 1).astype(np.int32))
    t.num("l_quantity", qty.astype(np.float64))
    t.num("l_extendedprice", cents(ext))
    t.num("l_discount", cents(disc))
    t.num("l_tax", cents(tax))
    t.text("l_returnflag", np.where(receipt > CUT, 1, back * 2), ["A", "N", "R"])
    t.text("l_linestatus", open_, ["F", "O"])
    t.date("l_shipdate", ship)
    t.date("l_commitdate", commit)
    t.date("l_receiptdate", receipt)
    t.text("l_shipinstruct", rng(s, "l_shipinstruct").integers(0, 4, n_li), INSTRUCT)
    t.text("l_shipmode", rng(s, "l_shipmode").integers(0, 7, n_li), MODES)
    t.done()


# ---------------------------------------------------------------- sparse and graph tables
def unique_pairs(name, n, rows, cols, sr, sc, loops=True, undirected=False):
    """n distinct (row, col) pairs, each side Zipf-distributed over permuted labels."""
    g = rng(name, "pairs")
    pr = rng(name, "rows").permutation(rows).astype(np.int64)
    pc = pr if undirected else rng(name, "cols").permutation(cols).astype(np.int64)
    have = np.empty(0, np.int64)
    while len(have) < n:
        need = n - len(have)
        a = pr[zipf_ranks(g, 2 * need, rows, sr)]
        b = pc[zipf_ranks(g, 2 * need, cols, sc)]
        if undirected:
            a, b = np.minimum(a, b), np.maximum(a, b)
        if not loops:
            keep = a != b
            a, b = a[keep], b[keep]
        key = np.concatenate([have, a * cols + b])
        _, first = np.unique(key, return_index=True)
        have = key[np.sort(first)]                                           # keep draw order
    key = have[:n]
    return (key // cols).astype(np.int32), (key % cols).astype(np.int32)


def gen_graph(out, scale=1.0):
    tag = "" if scale == 1 else f"_{scale:g}"
    # sparse (i,k) times dense (k,j), as relations
    s = f"spmm{tag}"
    n, d, w = int(1_000_000 * scale), int(10_000 * scale ** 0.5), 64
    i, k = unique_pairs(s, n, d, d, 0.6, 0.6)
    t = Table(out, s, "a")
    t.num("i", i)
    t.num("k", k)
    t.num("v", rng(s, "a.v").standard_normal(n))
    t.done()
    b = rng(s, "b.v").standard_normal((d, w))
    t = Table(out, s, "b")
    t.num("k", np.repeat(np.arange(d, dtype=np.int32), w))
    t.num("j", np.tile(np.arange(w, dtype=np.int32), d))
    t.num("v", b.reshape(-1))
    t.done()
    t = Table(out, s, "bw")                                                  # the same, one column per j
    t.num("k", np.arange(d, dtype=np.int32))
    for j in range(w):
        t.num(f"c{j}", b[:, j])
    t.done()

    # sparse (i,k) times sparse (k,j)
    s = f"spgemm{tag}"
    n, d = int(200_000 * scale), int(20_000 * scale ** 0.5)
    for name in ("a", "b"):
        r, c = unique_pairs(f"{s}/{name}", n, d, d, 0.5, 0.5)
        t = Table(out, s, name)
        t.num("i" if name == "a" else "k", r)
        t.num("k" if name == "a" else "j", c)
        t.num("v", rng(s, name, "v").standard_normal(n))
        t.done()

    # a factorisation: dense factors of 16 columns, at the cells of sparse (i,j)
    s = f"factors{tag}"
    n, users, items, d = int(1_000_000 * scale), int(100_000 * scale), int(10_000 * scale), 16
    i, j = unique_pairs(s, n, users, items, 0.6, 0.6)
    t = Table(out, s, "r")
    t.num("i", i)
    t.num("j", j)
    t.num("v", rng(s, "r.v").standard_normal(n))
    t.done()
    for name, key, rows in (("u", "i", users), ("v", "j", items)):
        t = Table(out, s, name)
        t.num(key, np.repeat(np.arange(rows, dtype=np.int32), d))
        t.num("k", np.tile(np.arange(d, dtype=np.int32), rows))
        t.num("x", rng(s, name, "x").standard_normal(rows * d))
        t.done()

    # undirected graph for triangles: each edge once with src < dst, and both ways
    s = f"triangle{tag}"
    n, d = int(100_000 * scale), int(10_000 * scale)
    a, c = unique_pairs(s, n, d, d, 0.7, 0.7, loops=False, undirected=True)
    t = Table(out, s, "e")
    t.num("src", a)
    t.num("dst", c)
    t.done()
    deg = np.bincount(a, minlength=d) + np.bincount(c, minlength=d)
    flip = (deg[a] > deg[c]) | ((deg[a] == deg[c]) & (a > c))
    t = Table(out, s, "ed")                                                  # edges from low to high degree
    t.num("src", np.where(flip, c, a).astype(np.int32))
    t.num("dst", np.where(flip, a, c).astype(np.int32))
    t.done()

    # directed graph for a PageRank step
    s = f"pagerank{tag}"
    n, d = int(1_000_000 * scale), int(100_000 * scale)
    a, c = unique_pairs(s, n, d, d, 0.5, 0.8, loops=False)
    t = Table(out, s, "e")
    t.num("src", a)
    t.num("dst", c)
    t.done()
    deg = np.bincount(a, minlength=d)
    r = rng(s, "rank").random(d)
    t = Table(out, s, "p")
    t.num("id", np.arange(d, dtype=np.int32))
    t.num("rank", r / r.sum())
    t.num("deg", np.maximum(deg, 1).astype(np.int32))
    t.done()
