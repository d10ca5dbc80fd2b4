#!/usr/bin/env python3
"""JAX's side of a benchmark: one jitted step, or several in turn, timed in rounds as standard input asks.

    bench/jax/serve.py BENCH --size S --dtype f32|f64 --threads N [--budget BYTES] --results DIR

Writes what the first step left to DIR as NPY files, with scales.json: the largest change of each.
Then answers lines with lines of JSON: `round SECONDS` (step by step, each waited for), `loop SECONDS` (many steps inside
one compiled loop, where neither Python nor dispatch counts), `end`.

XLA sizes its thread pool by the variable NPROC and cannot use more processors than the process may: the caller sets both,
for jaxlib has no other switch that holds (--xla_cpu_multi_thread_eigen=false leaves two threads to large products).
"""
import argparse
import importlib
import json
import os
import pathlib
import statistics
import sys
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from resident import reset_resident_peak, resident_bytes  # noqa: E402

MAX_RUNS = 5000  # a round


def write_results(folder, model, before, after):
    """And how far each of them has moved at most: a difference is relative to that."""
    scales = {}
    for name, value in model.results(after).items():
        value = np.asarray(value)
        scales[name] = float(np.abs(value - model.results(before)[name]).max())
        np.save(folder / f"{name}.npy", value)
    (folder / "scales.json").write_text(json.dumps(scales))


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("bench")
    ap.add_argument("--size", required=True)
    ap.add_argument("--dtype", required=True, choices=["f32", "f64"])
    ap.add_argument("--threads", type=int, required=True)
    ap.add_argument("--budget", type=int)
    ap.add_argument("--results", type=pathlib.Path, required=True)
    args = ap.parse_args()
    if os.environ.get("NPROC") != str(args.threads) or len(os.sched_getaffinity(0)) > args.threads:
        sys.exit(f"serve.py: start it with NPROC={args.threads} on {args.threads} processors")

    import jax
    jax.config.update("jax_enable_x64", args.dtype == "f64")
    jax.block_until_ready(jax.numpy.zeros(1) + 1)  # the back end is up before anything is measured
    module = importlib.import_module(args.bench)

    reset_resident_peak()
    resident_before = resident_bytes("VmRSS")
    budget = {} if args.budget is None else dict(budget=args.budget)
    model = module.Model(args.size, dict(f32=np.float32, f64=np.float64)[args.dtype], **budget)
    state = jax.device_put(model.initial())
    again = getattr(model, "again", lambda state: state)  # what the next run starts from
    stages, shapes = [], state
    start = time.perf_counter()
    for stage in model.stages() if hasattr(model, "stages") else [model.step]:
        stages.append(jax.jit(stage, donate_argnums=0).lower(shapes).compile())
        shapes = jax.eval_shape(stage, shapes)
    compile_ms = (time.perf_counter() - start) * 1e3
    arena_bytes = max(stage.memory_analysis().temp_size_in_bytes for stage in stages)

    def step(state):
        for stage in stages:
            state = stage(state)
        return state

    before = model.initial()
    state = jax.block_until_ready(step(state))
    write_results(args.results, model, before, state)
    del before

    def one_by_one(state, seconds):
        times, begin = [], time.perf_counter()
        while not times or (len(times) < MAX_RUNS and time.perf_counter() - begin < seconds):
            state = again(state)
            start = time.perf_counter()
            state = jax.block_until_ready(step(state))
            times.append((time.perf_counter() - start) * 1e3)
        return state, times

    times, loop_times, loop = [], [], None
    reset_resident_peak()
    print(json.dumps(dict(ready="jax " + jax.__version__)), flush=True)
    for line in sys.stdin:
        command, *seconds = line.split()
        if command == "round":
            state, more = one_by_one(state, float(seconds[0]))
            times += more
            if loop is None:  # compiling the loop takes memory that the step does not
                peak_bytes = resident_bytes("VmHWM") - resident_before
        elif command == "loop":
            if loop is None:  # as many steps as make up a round, by now that their time is known
                trips = max(2, min(1000, int(float(seconds[0]) * 1e3 / min(times))))
                many = lambda s: jax.lax.fori_loop(0, trips, lambda _, s: model.step(s), s)
                loop = jax.jit(many, donate_argnums=0).lower(state).compile()
                state = jax.block_until_ready(loop(state))
            start = time.perf_counter()
            state = jax.block_until_ready(loop(state))
            loop_times.append((time.perf_counter() - start) * 1e3 / trips)
        else:
            print(json.dumps(dict(min_ms=min(times), median_ms=statistics.median(times), compile_ms=compile_ms,
                                  arena_bytes=arena_bytes, peak_bytes=peak_bytes,
                                  loop_median_ms=statistics.median(loop_times) if loop_times else None)), flush=True)
            return
        print("{}", flush=True)


if __name__ == "__main__":
    main()
