"""The queries of sql/ as lazy ones of Polars, keyed by their paths.

Each takes the tables as lazy frames and gives the columns of the SQL in their order.
"""
import datetime as dt

import polars as pl

c = pl.col
QUERIES = {}


def query(path):
    def keep(f):
        QUERIES[path] = f
        return f
    return keep


# ---------------------------------------------------------------- db-benchmark group-by
# Polars sums int32 into int64, as SQL engines do.
QUERIES.update({
    "h2o/groupby_q01": lambda t: t["x"].group_by("id1").agg(c("v1").sum()),
    "h2o/groupby_q02": lambda t: t["x"].group_by("id1", "id2").agg(c("v1").sum()),
    "h2o/groupby_q03": lambda t: t["x"].group_by("id3").agg(c("v1").sum(), c("v3").mean()),
    "h2o/groupby_q04": lambda t: t["x"].group_by("id4").agg(c("v1", "v2", "v3").mean()),
    "h2o/groupby_q05": lambda t: t["x"].group_by("id6").agg(c("v1", "v2", "v3").sum()),
    "h2o/groupby_q06": lambda t: t["x"].group_by("id4", "id5").agg(median_v3=c("v3").median(), sd_v3=c("v3").std()),
    "h2o/groupby_q07": lambda t: t["x"].group_by("id3").agg(range_v1_v2=c("v1").max() - c("v2").min()),
    "h2o/groupby_q08": lambda t: t["x"].drop_nulls("v3").group_by("id6").agg(c("v3").top_k(2)).explode("v3"),
    "h2o/groupby_q09": lambda t: t["x"].group_by("id2", "id4").agg(r2=pl.corr("v1", "v2") ** 2),
    "h2o/groupby_q10": lambda t: t["x"].group_by("id1", "id2", "id3", "id4", "id5", "id6")
                                       .agg(c("v3").sum(), cnt=pl.len()),
})


# ---------------------------------------------------------------- db-benchmark join
def _join(other, key, how="inner"):
    def f(t):
        r = t[other]
        names = r.collect_schema().names()
        r = r.rename({n: f"{other}_{n}" for n in names if n not in (key, "v2")})
        cols = ["id1", "id2", "id3", "id4", "id5", "id6", "v1"]
        cols += [f"{other}_{n}" for n in names if n not in (key, "v2")] + ["v2"]
        return t["x"].join(r, on=key, how=how, maintain_order="none").select(cols)
    return f


QUERIES.update({
    "h2o/join_q1": _join("small", "id1"),
    "h2o/join_q2": _join("medium", "id2"),
    "h2o/join_q3": _join("medium", "id2", "left"),
    "h2o/join_q4": _join("medium", "id5"),
    "h2o/join_q5": _join("big", "id3"),
})

# ---------------------------------------------------------------- windows
QUERIES.update({
    "window/w1_running_sum": lambda t: t["w"].select("g", "o", s=c("v").cum_sum().over("g", order_by="o")),
    "window/w2_rank": lambda t: t["w"].select("g", "o", r=c("d").rank("min").over("g")),
    "window/w3_top2": lambda t: t["w"].sort("v", "o", descending=[True, False]).group_by("g", maintain_order=False)
                                      .head(2).select("g", "o", "v"),
    "window/w4_lag": lambda t: t["w"].select("g", "o", dv=c("v") - c("v").shift(1).over("g", order_by="o")),
    "window/w5_moving_avg": lambda t: t["w"].select(
        "g", "o", m=c("v").rolling_mean(101, min_samples=1).over("g", order_by="o")),
    "window/w6_partition_avg": lambda t: t["w"].select("g", "o", c=c("v") - c("v").mean().over("g")),
})


# ---------------------------------------------------------------- TPC-H
def _rev():
    return c("l_extendedprice") * (1 - c("l_discount"))


@query("tpch/q01")
def _q1(t):
    p = c("l_extendedprice")
    return (t["lineitem"].filter(c("l_shipdate") <= dt.date(1998, 9, 2))
            .group_by("l_returnflag", "l_linestatus")
            .agg(sum_qty=c("l_quantity").sum(), sum_base_price=p.sum(), sum_disc_price=_rev().sum(),
                 sum_charge=(_rev() * (1 + c("l_tax"))).sum(), avg_qty=c("l_quantity").mean(), avg_price=p.mean(),
                 avg_disc=c("l_discount").mean(), count_order=pl.len())
            .sort("l_returnflag", "l_linestatus"))


@query("tpch/q03")
def _q3(t):
    d = dt.date(1995, 3, 15)
    return (t["customer"].filter(c("c_mktsegment") == "BUILDING")
            .join(t["orders"].filter(c("o_orderdate") < d), left_on="c_custkey", right_on="o_custkey")
            .join(t["lineitem"].filter(c("l_shipdate") > d), left_on="o_orderkey", right_on="l_orderkey")
            .group_by("o_orderkey", "o_orderdate", "o_shippriority").agg(revenue=_rev().sum())
            .select(c("o_orderkey").alias("l_orderkey"), "revenue", "o_orderdate", "o_shippriority")
            .sort("revenue", "o_orderdate", descending=[True, False]).head(10))


@query("tpch/q05")
def _q5(t):
    o = t["orders"].filter(c("o_orderdate") >= dt.date(1994, 1, 1), c("o_orderdate") < dt.date(1995, 1, 1))
    return (t["region"].filter(c("r_name") == "ASIA")
            .join(t["nation"], left_on="r_regionkey", right_on="n_regionkey")
            .join(t["customer"], left_on="n_nationkey", right_on="c_nationkey")
            .join(o, left_on="c_custkey", right_on="o_custkey")
            .join(t["lineitem"], left_on="o_orderkey", right_on="l_orderkey")
            .join(t["supplier"], left_on=["l_suppkey", "n_nationkey"], right_on=["s_suppkey", "s_nationkey"])
            .group_by("n_name").agg(revenue=_rev().sum()).sort("revenue", descending=True))


@query("tpch/q06")
def _q6(t):
    return (t["lineitem"].filter(c("l_shipdate") >= dt.date(1994, 1, 1), c("l_shipdate") < dt.date(1995, 1, 1),
                                 c("l_discount") >= 0.045, c("l_discount") <= 0.075, c("l_quantity") < 24)
            .select(revenue=(c("l_extendedprice") * c("l_discount")).sum()))


@query("tpch/q09")
def _q9(t):
    p = t["part"].filter(c("p_name").cast(pl.String).str.contains("green", literal=True)).select("p_partkey")
    return (p.join(t["partsupp"], left_on="p_partkey", right_on="ps_partkey")
            .join(t["supplier"], left_on="ps_suppkey", right_on="s_suppkey")
            .join(t["lineitem"], left_on=["p_partkey", "ps_suppkey"], right_on=["l_partkey", "l_suppkey"])
            .join(t["orders"], left_on="l_orderkey", right_on="o_orderkey")
            .join(t["nation"], left_on="s_nationkey", right_on="n_nationkey")
            .select(nation="n_name", o_year=c("o_orderdate").dt.year().cast(pl.Int64),
                    amount=_rev() - c("ps_supplycost") * c("l_quantity"))
            .group_by("nation", "o_year").agg(sum_profit=c("amount").sum())
            .sort("nation", "o_year", descending=[False, True]))


@query("tpch/q10")
def _q10(t):
    o = t["orders"].filter(c("o_orderdate") >= dt.date(1993, 10, 1), c("o_orderdate") < dt.date(1994, 1, 1))
    return (t["customer"].join(o, left_on="c_custkey", right_on="o_custkey")
            .join(t["lineitem"].filter(c("l_returnflag") == "R"), left_on="o_orderkey", right_on="l_orderkey")
            .join(t["nation"], left_on="c_nationkey", right_on="n_nationkey")
            .group_by("c_custkey", "c_name", "c_acctbal", "c_phone", "n_name", "c_address", "c_comment")
            .agg(revenue=_rev().sum())
            .select("c_custkey", "c_name", "revenue", "c_acctbal", "n_name", "c_address", "c_phone", "c_comment")
            .sort("revenue", descending=True).head(20))


@query("tpch/q12")
def _q12(t):
    urgent = c("o_orderpriority").is_in(["1-URGENT", "2-HIGH"])
    li = t["lineitem"].filter(c("l_shipmode").is_in(["MAIL", "SHIP"]), c("l_commitdate") < c("l_receiptdate"),
                              c("l_shipdate") < c("l_commitdate"), c("l_receiptdate") >= dt.date(1994, 1, 1),
                              c("l_receiptdate") < dt.date(1995, 1, 1))
    return (t["orders"].join(li, left_on="o_orderkey", right_on="l_orderkey").group_by("l_shipmode")
            .agg(high_line_count=urgent.sum(), low_line_count=(~urgent).sum()).sort("l_shipmode"))


@query("tpch/q14")
def _q14(t):
    li = t["lineitem"].filter(c("l_shipdate") >= dt.date(1995, 9, 1), c("l_shipdate") < dt.date(1995, 10, 1))
    promo = c("p_type").cast(pl.String).str.starts_with("PROMO")
    return (li.join(t["part"], left_on="l_partkey", right_on="p_partkey")
            .select(promo_revenue=100.0 * pl.when(promo).then(_rev()).otherwise(0.0).sum() / _rev().sum()))


@query("tpch/q18")
def _q18(t):
    big = t["lineitem"].group_by("l_orderkey").agg(sum_qty=c("l_quantity").sum()).filter(c("sum_qty") > 300)
    return (t["orders"].join(big, left_on="o_orderkey", right_on="l_orderkey")
            .join(t["customer"], left_on="o_custkey", right_on="c_custkey")
            .select("c_name", c("o_custkey").alias("c_custkey"), "o_orderkey", "o_orderdate", "o_totalprice", "sum_qty")
            .sort("o_totalprice", "o_orderdate", descending=[True, False]).head(100))


# ---------------------------------------------------------------- graph
QUERIES.update({
    "graph/spmm_long": lambda t: t["a"].join(t["b"], on="k", maintain_order="none").group_by("i", "j")
                                       .agg(v=(c("v") * c("v_right")).sum()),
    "graph/spmm_wide": lambda t: t["a"].join(t["bw"], on="k", maintain_order="none").group_by("i")
                                       .agg((c("v") * c(f"c{j}")).sum().alias(f"c{j}") for j in range(64)),
    "graph/spgemm": lambda t: t["a"].join(t["b"], on="k", maintain_order="none").group_by("i", "j")
                                    .agg(v=(c("v") * c("v_right")).sum()),
    "graph/factors": lambda t: t["r"].join(t["u"], on="i", maintain_order="none")
                                     .join(t["v"], on=["j", "k"], suffix="_v", maintain_order="none")
                                     .group_by("i", "j").agg(x=(c("x") * c("x_v")).sum()),
    "graph/pagerank_step": lambda t: t["e"].join(t["p"], left_on="src", right_on="id", maintain_order="none")
                                           .group_by(c("dst").alias("id"))
                                           .agg(rank=(c("rank") / c("deg")).sum() * 0.85 + 0.15 / 100000),
})


def _tri(name):
    def f(t):
        e = t[name]
        return (e.join(e.rename({"src": "mid", "dst": "end"}), left_on="dst", right_on="mid")
                .join(e, left_on=["src", "end"], right_on=["src", "dst"]).select(n=pl.len()))
    return f


QUERIES["graph/triangle"] = _tri("e")
QUERIES["graph/triangle_deg"] = _tri("ed")
