"""The queries of the OLAP benchmarks: which data sets each has, and which of a result's columns are keys.

A query is one SQL text, sql/PATH.sql, that PostgreSQL's grammar has; sql/PATH.PEER.sql is a peer's own, faster spelling.
Polars has the same query in polars_queries.py.
"""
import dataclasses
import pathlib

import data

SQL = pathlib.Path(__file__).resolve().parent / "sql"

LINEITEM_ROWS = 6e6  # of TPC-H at scale factor 1
NON_ZEROS = 1e6      # of the sparse operand of a graph data set of scale 1


@dataclasses.dataclass
class Query:
    path: str
    keys: int  # leading columns of the result that tell its rows apart

    def sql_file(self, peer):
        own = SQL / f"{self.path}.{peer}.sql"
        return own if own.exists() else SQL / f"{self.path}.sql"


GROUPBY = {f"q{i}": Query(f"h2o/groupby_q{i:02d}", keys) for i, keys in enumerate((1, 2, 1, 1, 1, 2, 1, 1, 2, 6), 1)}
JOIN = {f"q{i}": Query(f"h2o/join_q{i}", 6) for i in range(1, 6)}
WINDOW = {name: Query(f"window/{name}", 2)
          for name in ("w1_running_sum", "w2_rank", "w3_top2", "w4_lag", "w5_moving_avg", "w6_partition_avg")}
TPCH = {name: Query(f"tpch/{name}", keys) for name, keys in (
    ("q01", 2), ("q03", 1), ("q05", 1), ("q06", 0), ("q09", 2), ("q10", 1), ("q12", 1), ("q14", 0), ("q18", 3))}
SPMM = {"spmm_long": Query("graph/spmm_long", 2), "spmm_wide": Query("graph/spmm_wide", 1)}
SPGEMM = {"spgemm": Query("graph/spgemm", 2)}
FACTORS = {"factors": Query("graph/factors", 2)}
TRIANGLE = {"triangle": Query("graph/triangle", 0), "triangle_deg": Query("graph/triangle_deg", 0)}
PAGERANK = {"pagerank_step": Query("graph/pagerank_step", 1)}


def data_sets(bench, rows):
    """The queries of each data set of a benchmark."""
    n = data.nname(rows)
    if bench == "h2o":
        return {f"h2o_groupby_{n}": GROUPBY, f"h2o_join_{n}": JOIN}
    if bench == "window":
        return {f"window_uniform_{n}": WINDOW, f"window_zipf_{n}": WINDOW}
    if bench == "tpch":
        return {f"tpch_{rows / LINEITEM_ROWS:g}": TPCH}
    tag = "" if rows == NON_ZEROS else f"_{rows / NON_ZEROS:g}"
    return {f"spmm{tag}": SPMM, f"spgemm{tag}": SPGEMM, f"factors{tag}": FACTORS, f"triangle{tag}": TRIANGLE,
            f"pagerank{tag}": PAGERANK}


def make_data(bench, rows, folder):
    """Makes the data sets of a benchmark, a folder each."""
    if bench == "h2o":
        data.gen_groupby(folder, rows)
        data.gen_join(folder, rows)
    elif bench == "window":
        data.gen_window(folder, rows)
    elif bench == "tpch":
        data.gen_tpch(folder, rows / LINEITEM_ROWS)
    else:
        data.gen_graph(folder, rows / NON_ZEROS)
