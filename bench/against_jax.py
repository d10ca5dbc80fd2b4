#!/usr/bin/env python3
"""Times one of our benchmarks and JAX's version of it in turn, after holding their results against each other.

    bench/against_jax.py PROGRAM BENCH --size S --dtype f32|f64 --threads N [--budget BYTES] [--rounds R] [--json]

Prints one line: what the program itself prints, and JAX's numbers as peer_*. `ratio` is our median over JAX's: below 1 we are
faster. Exit code 1, and no time, where a result differs by more than the tolerance.

Each side is a process of its own, held to the same N processors, and a round of one runs while the other waits. Noise of the
machine then meets both.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

JAX_SIDE = pathlib.Path(__file__).resolve().parent / "jax" / "serve.py"
ROUND_SECONDS = 0.15  # a round takes one step at least
# A result may differ by this share of the largest change that the first step made to it.
TOLERANCE = dict(f32=1e-3, f64=1e-9)
EXACT = {"init"}  # these results have the bits of JAX's


class Side:
    """A process that answers each line with one line of JSON."""

    def __init__(self, command, threads):
        processors = sorted(os.sched_getaffinity(0))[:threads]
        if len(processors) < threads:
            sys.exit(f"against_jax.py: {threads} threads need as many processors, and there are {len(processors)}")
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=dict(os.environ, NPROC=str(threads), JAX_PLATFORMS="cpu"),
            preexec_fn=lambda: os.sched_setaffinity(0, processors))
        self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(self.process.wait() or 1)
        return json.loads(line)

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.answer()


def differences(ours, jax, tolerance):
    """A line for each result that differs too much."""
    scales = json.loads((jax / "scales.json").read_text())
    for name, scale in scales.items():
        path = ours / f"{name}.npy"
        if not path.exists():
            yield f"{name}: missing"
            continue
        mine, theirs = np.load(path), np.load(jax / f"{name}.npy")
        if mine.shape != theirs.shape or mine.dtype != theirs.dtype:
            yield f"{name}: {mine.dtype}{mine.shape} instead of {theirs.dtype}{theirs.shape}"
            continue
        worst = float(np.abs(mine - theirs).max())
        if not worst <= tolerance * scale:  # so that a NaN is wrong too
            yield f"{name}: differs by {worst:.3g}, {worst / scale:.3g} of its scale; the tolerance is {tolerance:g}"


def compare(program, bench, size, dtype, threads, rounds, budget=None):
    """The record of `program` with JAX's numbers. Exits where the results differ."""
    options = ["--size", size, "--dtype", dtype, "--threads", str(threads)]
    if budget is not None:  # svgd: of intermediates here, of a chunk's there
        options += ["--budget", str(budget)]
    with tempfile.TemporaryDirectory() as scratch:
        ours_at, jax_at = pathlib.Path(scratch, "ours"), pathlib.Path(scratch, "jax")
        ours_at.mkdir()
        jax_at.mkdir()
        ours = Side([program, *options, "--serve", "--results", str(ours_at)], threads)
        jax = Side([sys.executable, str(JAX_SIDE), bench, *options, "--results", str(jax_at)], threads)
        wrong = list(differences(ours_at, jax_at, 0 if bench in EXACT else TOLERANCE[dtype]))
    if wrong:
        sys.exit("\n".join([f"{bench} {size} {dtype}: results differ from JAX's:", *wrong]))
    for _ in range(rounds):
        ours.ask(f"round {ROUND_SECONDS}")
        jax.ask(f"round {ROUND_SECONDS}")
        if bench == "gpt":
            jax.ask(f"loop {ROUND_SECONDS}")
    record, peer = ours.ask("end"), jax.ask("end")
    record.update(peer="jax", peer_min_ms=peer["min_ms"], peer_median_ms=peer["median_ms"],
                  ratio=record["median_ms"] / peer["median_ms"], peer_compile_ms=peer["compile_ms"],
                  peer_peak_bytes=peer["peak_bytes"], peer_arena_bytes=peer["arena_bytes"])
    if bench == "init":  # which is run once
        record["plan_and_run_ratio"] = (record["plan_ms"] + record["median_ms"]) / (peer["compile_ms"] + peer["median_ms"])
    if peer["loop_median_ms"] is not None:
        record.update(peer_loop_median_ms=peer["loop_median_ms"], loop_ratio=record["median_ms"] / peer["loop_median_ms"])
    return record


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("program")
    ap.add_argument("bench")
    ap.add_argument("--size", "--n", required=True)
    ap.add_argument("--dtype", choices=["f32", "f64"], default="f64")
    ap.add_argument("--threads", type=int, default=1)
    ap.add_argument("--budget", type=int, help="bytes of intermediates, of svgd")
    ap.add_argument("--rounds", type=int, default=12)
    ap.add_argument("--json", action="store_true", help="print one JSON line")
    args = ap.parse_args()
    record = compare(args.program, args.bench, args.size, args.dtype, args.threads, args.rounds, args.budget)
    print(json.dumps(record) if args.json else "\n".join(f"{key}: {value}" for key, value in record.items()))


if __name__ == "__main__":
    main()
