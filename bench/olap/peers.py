#!/usr/bin/env python3
"""One peer of the OLAP benchmarks: answers the lines of standard input that olap_bench.cc answers, in the same way.

    bench/olap/peers.py PEER DATA_SET_FOLDER --threads N

    query FILE|PATH   Polars is asked for a query of polars_queries.py, the others for the SQL in a file
    result KEYS       the checksum of its rows
    round SECONDS, record

Data is in the peer's own form in memory before anything is timed, and a run ends when the peer holds the whole result.
"""
import argparse
import gc
import json
import pathlib
import statistics
import sys
import time

import columns

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from resident import reset_resident_peak, resident_bytes  # noqa: E402


class DuckDB:
    def __init__(self, tables, threads):
        import duckdb
        import pyarrow as pa
        self.connection = duckdb.connect(config={"threads": threads})
        self.connection.execute("SET preserve_insertion_order = false")
        for name, table in tables.items():
            self.connection.register("arrow_in", table)
            selected = []
            for field in table.schema:
                text = f'"{field.name}"'
                if pa.types.is_dictionary(field.type):
                    self.connection.register("words", pa.table({"w": table.column(field.name).chunk(0).dictionary}))
                    self.connection.execute(f'CREATE TYPE "{name}_{field.name}" AS ENUM (SELECT w FROM words)')
                    self.connection.unregister("words")
                    text = f'CAST({text} AS VARCHAR)::"{name}_{field.name}" AS {text}'
                selected.append(text)
            self.connection.execute(f'CREATE TABLE "{name}" AS SELECT {", ".join(selected)} FROM arrow_in')
            self.connection.unregister("arrow_in")

    def prepare(self, query):
        sql = pathlib.Path(query).read_text().strip().rstrip(";")
        return lambda: self.connection.sql(sql).to_arrow_table()

    def arrow(self, result):
        return result


class DataFusion:
    def __init__(self, tables, threads):
        import datafusion
        import pyarrow as pa
        self.pa = pa
        self.context = datafusion.SessionContext(datafusion.SessionConfig().with_target_partitions(threads))
        for name, table in tables.items():
            arrays = [c.cast(pa.string_view()) if pa.types.is_string(c.type) or pa.types.is_large_string(c.type) else c
                      for c in table.columns]
            batches = pa.table(arrays, table.column_names).to_batches(max_chunksize=8192)
            share = -(-len(batches) // threads)
            parts = [batches[i * share:(i + 1) * share] for i in range(threads)]
            self.context.register_record_batches(name, [part for part in parts if part])

    def prepare(self, query):
        sql = pathlib.Path(query).read_text().strip().rstrip(";")
        return lambda: self.context.sql(sql).collect()

    def arrow(self, result):
        return self.pa.Table.from_batches(result) if result else self.pa.table({})


class Polars:
    def __init__(self, tables, threads, engine):
        import polars
        import polars_queries
        assert polars.thread_pool_size() == threads, (polars.thread_pool_size(), threads)
        self.queries, self.engine = polars_queries.QUERIES, engine
        self.tables = {name: polars.from_arrow(table).rechunk().lazy() for name, table in tables.items()}

    def prepare(self, query):
        return lambda: self.queries[query](self.tables).collect(engine=self.engine)

    def arrow(self, result):
        return result.to_arrow()


# Each in its variants; `-dict` has its strings as ENUM, Categorical or Dictionary(Int32, Utf8).
PEERS = {
    "duckdb": DuckDB,
    "polars": lambda tables, threads: Polars(tables, threads, "in-memory"),
    "polars-stream": lambda tables, threads: Polars(tables, threads, "streaming"),
    "datafusion": DataFusion,
}
PEERS.update({f"{name}-dict": make for name, make in PEERS.items()})


class Timed:
    """A query that was run once, and the times of its runs since."""

    def __init__(self, peer, query):
        reset_resident_peak()
        self.peer, self.resident_before = peer, resident_bytes("VmRSS")
        self.run = peer.prepare(query)
        self.last, self.times = self.run(), []

    def round(self, seconds):
        if not self.times:
            self.last = None
            reset_resident_peak()
        begin = time.perf_counter()
        while True:
            self.last = None
            gc.collect()
            start = time.perf_counter()
            self.last = self.run()
            now = time.perf_counter()
            self.times.append((now - start) * 1e3)
            if now - begin >= seconds:
                return

    def record(self):
        return dict(min_ms=min(self.times), median_ms=statistics.median(self.times),
                    peak_bytes=resident_bytes("VmHWM") - self.resident_before)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("peer", choices=PEERS)
    ap.add_argument("data", type=pathlib.Path)
    ap.add_argument("--threads", type=int, required=True)
    args = ap.parse_args()
    peer = PEERS[args.peer](columns.read_tables(args.data, args.peer.endswith("-dict")), args.threads)
    timed = None
    print("{}", flush=True)
    for line in sys.stdin:
        command, _, argument = line.strip().partition(" ")
        answer = {}
        try:
            if command == "query":
                timed = None
                timed = Timed(peer, argument)
            elif command == "result":
                answer = columns.checksum(peer.arrow(timed.last), int(argument))
            elif command == "round":
                timed.round(float(argument))
            else:
                answer = timed.record()
        except Exception as error:  # the peer's own: the next query may do
            answer = dict(error=f"{type(error).__name__}: {error}")
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
