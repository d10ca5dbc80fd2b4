#!/usr/bin/env python3
"""Checks, then times, the queries of an OLAP benchmark, in turn with other engines.

    bench/olap/run.py PROGRAM h2o|tpch|window|graph --rows N --threads T [--against duckdb,polars,datafusion] [--json]

Prints a line a query. `peer` is the fastest of those asked for, by its median, in the faster of its variants (strings plain
or as dictionaries; Polars' two engines); `ratio` is our median over its: below 1 we are faster. Exit code 1, and no time of
it, where a query fails or its result differs from a peer's or from expected.json.

Each side is a process of its own, held to the same T processors, and a round of one runs while the others wait. Data sets
are made once, in build/olap.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import columns
import peers
import queries

HERE = pathlib.Path(__file__).resolve().parent
DATA = HERE.parent.parent / "build" / "olap"
EXPECTED = json.loads((HERE / "expected.json").read_text())


class Side:
    """A process that answers each line with one line of JSON, {"error": ...} where it cannot."""

    def __init__(self, name, command, threads):
        processors = sorted(os.sched_getaffinity(0))[:threads]
        if len(processors) < threads:
            sys.exit(f"run.py: {threads} threads need as many processors, and there are {len(processors)}")
        self.name = name
        self.process = subprocess.Popen(
            [*command, "--threads", str(threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=dict(os.environ, POLARS_MAX_THREADS=str(threads)), preexec_fn=lambda: os.sched_setaffinity(0, processors))
        self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"run.py: {self.name} ended with exit code {self.process.wait()}")
        return json.loads(line)

    def ask(self, *words):
        self.process.stdin.write(" ".join(str(word) for word in words) + "\n")
        self.process.stdin.flush()
        return self.answer()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def made_data(bench, rows):
    """The folder of a benchmark's data sets, made where they are not there in full yet."""
    folder = DATA / f"{bench}_{rows}"
    sets = [folder / name for name in queries.data_sets(bench, rows)]
    if not all(path.exists() for path in (folder / "complete", *sets)):
        shutil.rmtree(folder, ignore_errors=True)
        print(f"run.py: making {folder.name}", file=sys.stderr)
        queries.make_data(bench, rows, folder)
        (folder / "complete").touch()
    return folder


def our_sums(ours, keys):
    with tempfile.TemporaryDirectory() as folder:
        answer = ours.ask("result", folder)
        return answer if "error" in answer else columns.checksum(columns.read_table(pathlib.Path(folder), False), keys)


def check(query, expected, ours, others):
    """The peers that can run the query. Raises ValueError where results differ."""
    prepared = ours.ask("query", query.sql_file("adjoin"))
    sums = prepared if "error" in prepared else our_sums(ours, query.keys)
    if "error" in sums:
        raise ValueError(sums["error"].strip())
    if expected is not None and (wrong := columns.difference(sums, expected)):
        raise ValueError(f"differs from expected.json: {wrong}")
    able = []
    for peer in others:
        own = peer.name.split("-")[0]
        prepared = peer.ask("query", query.path if own == "polars" else query.sql_file(own))
        theirs = prepared if "error" in prepared else peer.ask("result", query.keys)
        if "error" in theirs:
            print(f"run.py: {query.path}: {peer.name}: {theirs['error']}", file=sys.stderr)
        elif wrong := columns.difference(sums, theirs):
            raise ValueError(f"differs from {peer.name}: {wrong}")
        else:
            able.append(peer)
    return able


def measure(ours, able, rounds, seconds):
    for _ in range(rounds):
        for side in (ours, *able):
            side.ask("round", seconds)
    record = ours.ask("record")
    theirs = {peer.name: peer.ask("record") for peer in able}
    if theirs:
        fastest = min(theirs, key=lambda name: theirs[name]["median_ms"])
        peer = theirs[fastest]
        record.update(peer=fastest, peer_min_ms=peer["min_ms"], peer_median_ms=peer["median_ms"],
                      ratio=record["median_ms"] / peer["median_ms"], peer_peak_bytes=peer["peak_bytes"])
    return record


def variants(against):
    """The names of all variants of these peers."""
    return [name for name in peers.PEERS if any(name == peer or name.startswith(peer + "-") for peer in against)]


def run_apart(program, bench, rows, threads, names, *options):
    """The same as run with one variant of a peer in memory at a time: of each query the record of the worst ratio."""
    worst = {}
    for name in names:
        for record in run(program, bench, rows, threads, [name], *options):
            key = record["data"], record["query"]
            if "error" in record or key not in worst or record.get("ratio", 0) > worst[key].get("ratio", 0):
                worst[key] = worst[key] if "error" in worst.get(key, {}) else record
    yield from worst.values()


def run(program, bench, rows, threads, names, only=(), rounds=5, seconds=0.2, memory_share=0):
    """Yields a record a query, with `error` where it failed; `names` are variants of peers."""
    made = made_data(bench, rows)
    for data_set, asked in queries.data_sets(bench, rows).items():
        asked = {name: query for name, query in asked.items() if not only or name in only}
        if not asked:
            continue
        folder = made / data_set
        ours = Side("olap_bench", [program, folder, "--memory-share", str(memory_share)], threads)
        others = [Side(name, [sys.executable, HERE / "peers.py", name, folder], threads) for name in names]
        for name, query in asked.items():
            record = dict(bench=bench, data=data_set, query=name, threads=threads)
            try:
                able = check(query, EXPECTED.get(data_set, {}).get(name), ours, others)
                record.update(measure(ours, able, rounds, seconds))
            except ValueError as error:
                record.update(error=str(error))
            yield record
        for side in (ours, *others):
            side.close()


def as_line(record):
    text = f"{record['data']} {record['query']}: "
    if "error" in record:
        return text + record["error"]
    text += f"{record['min_ms']:.2f} ms, median {record['median_ms']:.2f}, {record['peak_bytes'] / 1e6:.0f} MB"
    if "spilled_bytes" in record:
        text += f"; {record['spilled_bytes'] / 1e6:.0f} MB in files, budget {record['budget_peak_bytes'] / 1e6:.1f} of {record['working_set_bytes'] / 1e6:.1f} MB"
    if "peer" in record:
        text += f"; {record['peer']} {record['peer_median_ms']:.2f}, ratio {record['ratio']:.2f}"
    return text


MARKDOWN_HEAD = """| data | query | ours, min ms | ours, median ms | fastest peer | its median ms | ours / its | ours, MB | its MB |
| --- | --- | ---: | ---: | --- | ---: | ---: | ---: | ---: |"""


def as_markdown(record):
    if "error" in record:
        return f"| {record['data']} | {record['query']} | | | {record['error']} | | | | |"
    text = f"| {record['data']} | {record['query']} | {record['min_ms']:.2f} | {record['median_ms']:.2f} "
    ours = f"{record['peak_bytes'] / 1e6:.0f}"
    if "peer" not in record:
        return f"{text}| | | | {ours} | |"
    peer = f"{record['peer']} | {record['peer_median_ms']:.2f} | {record['ratio']:.2f}"
    return f"{text}| {peer} | {ours} | {record['peer_peak_bytes'] / 1e6:.0f} |"


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("program")
    ap.add_argument("bench", choices=["h2o", "tpch", "window", "graph"])
    ap.add_argument("--rows", type=lambda text: int(float(text)), default=1_000_000)
    ap.add_argument("--threads", type=int, default=1)
    ap.add_argument("--against", type=lambda text: text.split(","), default=[], help="peers, separated by commas")
    ap.add_argument("--query", action="append", default=[], help="only this query; several may be given")
    ap.add_argument("--rounds", type=int, default=5)
    ap.add_argument("--seconds", type=float, default=0.2, help="of a round, which takes one run at least")
    ap.add_argument("--apart", action="store_true",
                    help="one variant of a peer after another beside ours, where memory has no room for all")
    ap.add_argument("--memory-share", type=float, default=0,
                    help="of the memory that a query takes: all that it has beside the tables; the rest in files")
    ap.add_argument("--json", dest="form", action="store_const", const=json.dumps, default=as_line, help="print JSON lines")
    ap.add_argument("--markdown", dest="form", action="store_const", const=as_markdown, help="print a table")
    args = ap.parse_args()
    known = {name.split("-")[0] for name in peers.PEERS} | set(peers.PEERS)
    if unknown := set(args.against) - known:
        ap.error(f"--against {', '.join(sorted(known))}, not {', '.join(sorted(unknown))}")
    if args.form is as_markdown:
        print(MARKDOWN_HEAD)
    failed = False
    one_way = run_apart if args.apart else run
    for record in one_way(args.program, args.bench, args.rows, args.threads, variants(args.against), args.query,
                          args.rounds, args.seconds, args.memory_share):
        print(args.form(record), flush=True)
        failed |= "error" in record
    sys.exit(failed)


if __name__ == "__main__":
    main()
