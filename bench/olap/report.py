#!/usr/bin/env python3
"""Writes what run.py gave: bench/olap/results.json (a record a line), the table of bench/olap/results.md and its picture,
bench/olap/results.svg.

    bench/olap/report.py FILE...    FILEs have the lines of `run.py --json`, of any data and numbers of threads

Where several have a query, ours is of the last one and the peer the fastest of all. Without FILEs the table and the picture
are written again from results.json.
"""
import argparse
import json
import math
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from ratio_picture import ratio_picture  # noqa: E402

BENCHES = ("h2o", "window", "tpch", "graph")


def read(files):
    """A record for each query and number of threads."""
    best = {}
    for file in files:
        for line in file.read_text().splitlines():
            record = json.loads(line) if line.startswith("{") else {}
            if "ratio" not in record:
                continue
            key = record["data"], record["query"], record["threads"]
            before = best.get(key)
            if before is not None and before["peer_median_ms"] < record["peer_median_ms"]:
                record |= {name: before[name] for name in before if name.startswith("peer")}
            best[key] = record | {"ratio": record["median_ms"] / record["peer_median_ms"]}
    number = lambda query: int("".join(c for c in query.split("_")[0] if c.isdigit()) or 0)
    return sorted(best.values(), key=lambda r: (BENCHES.index(r["bench"]), r["data"], number(r["query"]), r["query"], r["threads"]))


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def tables(records):
    head = ("data", "query", "ours, min ms", "median", "fastest peer, median ms", "ours / its", "ours, MB", "its MB")
    lines = []
    for threads in sorted({r["threads"] for r in records}):
        of = [r for r in records if r["threads"] == threads]
        means = [f"{bench} {mean([r['ratio'] for r in of if r['bench'] == bench]):.2f}" for bench in BENCHES
                 if any(r["bench"] == bench for r in of)]
        slower = [f"{r['data']} {r['query']}" for r in of if r["ratio"] > 1]
        lines += [f"On {threads} thread{'s' if threads > 1 else ''}, geometric means of ours / the fastest peer: {', '.join(means)}. "
                  f"Above 1: {', '.join(slower) or 'none'}.", "",
                  "| " + " | ".join(head) + " |", "| --- | --- | ---: | ---: | --- | ---: | ---: | ---: |"]
        lines += [f"| {r['data']} | {r['query']} | {r['min_ms']:.2f} | {r['median_ms']:.2f} | {r['peer']} {r['peer_median_ms']:.2f} | "
                  f"{r['ratio']:.2f} | {r['peak_bytes'] / 1e6:.0f} | {r['peer_peak_bytes'] / 1e6:.0f} |" for r in of]
        lines.append("")
    return "\n".join(lines)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("files", nargs="*", type=pathlib.Path)
    args = ap.parse_args()
    results = HERE / "results.json"
    if args.files:
        results.write_text("[\n" + ",\n".join(map(json.dumps, read(args.files))) + "\n]\n")
    records = json.loads(results.read_text())
    text = (HERE / "results.md").read_text()
    begin, end = "<!-- written by report.py -->", "<!-- until here -->"
    before, after = text[: text.index(begin)], text[text.index(end):]
    (HERE / "results.md").write_text(f"{before}{begin}\n\n{tables(records)}\n{after}")
    bars = [(f"{r['data']} {r['query']}, {r['threads']} thread{'s' if r['threads'] > 1 else ''}", r["ratio"]) for r in records]
    (HERE / "results.svg").write_text(ratio_picture(bars, "our time / the fastest peer's"))


if __name__ == "__main__":
    main()
