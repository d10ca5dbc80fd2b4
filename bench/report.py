#!/usr/bin/env python3
"""Runs every workload below against JAX and writes what it gave: bench/results.json (a record a line), the tables of
bench/README.md and its picture, bench/report.svg.

    bench/report.py PROGRAMS             PROGRAMS is the folder of the built benchmarks
    bench/report.py PROGRAMS --rewrite   only the tables and the picture, from bench/results.json
"""
import argparse
import itertools
import json
import pathlib
import re
import subprocess

import against_jax
from ratio_picture import ratio_picture

HERE = pathlib.Path(__file__).resolve().parent
PLAN_GOAL = 1 / 100  # planning and preparing over JAX's compilation
SHARE_GOAL = 0.85    # of the FMA peak, in the kernels of a step's products
LOOP_GOAL = 0.6      # ours / JAX's step in a jitted loop, where one is set


def ratio_goal(r, loop):
    """Ours / JAX that the project has set itself; None: none."""
    goals = {("gpt", "small"): LOOP_GOAL if loop else 0.4, ("attention", "512"): 0.5, ("attention", "2048"): 0.2,
             ("mlp", "mnist"): 0.75, ("contraction", "weight-gradient"): 0.55}
    if (r["bench"], r["size"]) in goals:
        return goals[r["bench"], r["size"]]
    if loop:
        return None
    return 0.65 if r["size"] == "base" and r["threads"] == 2 else 0.7


# bench, size, dtypes, threads
WORKLOADS = [
    ("gpt", "small", ("f32", "f64"), (1,)),
    ("gpt", "base", ("f32", "f64"), (1, 2)),
    ("gpt", "deep", ("f32", "f64"), (1, 2)),
    ("attention", "512", ("f32",), (1,)),
    ("attention", "2048", ("f32",), (1,)),
    ("mlp", "mnist", ("f32", "f64"), (1,)),
    ("contraction", "weight-gradient", ("f32", "f64"), (1,)),
]


def products():
    """{name: (m, n, k, layouts)} of bench/products.txt."""
    lines = (line.split() for line in (HERE / "products.txt").read_text().splitlines() if not line.startswith("#"))
    return {name: (int(m), int(n), int(k), layouts) for name, _, m, n, k, layouts in lines}


def run_workloads(programs, rounds):
    for bench, size, dtypes, threads in WORKLOADS:
        for dtype in dtypes:
            for n in threads:
                print(f"{bench} {size} {dtype}, {n} thread(s)", flush=True)
                yield against_jax.compare(str(programs / f"{bench}_bench"), bench, size, dtype, n, rounds)


def run_kernels(programs):
    """The products of a step, by the kernel alone, on the last instruction set that there is: the one that is used."""
    print("kernels", flush=True)

    def run(*options):
        return subprocess.run([programs / "kernels_bench", *options], check=True, capture_output=True, text=True).stdout

    isa = run("--benchmark_list_tests", "--benchmark_filter=^gemm_").split()[-1].split("/")[1]
    out = run(f"--benchmark_filter=^gemm_f../{isa}/", "--benchmark_min_time=0.3", "--benchmark_format=json")
    measured = {result["name"]: result for result in json.loads(out)["benchmarks"]}
    for name, (m, n, k, layouts) in products().items():
        for dtype in ("f32", "f64"):
            result = measured[f"gemm_{dtype}/{isa}/{m}/{n}/{k}/{('nn', 'tn', 'nt').index(layouts)}"]
            yield dict(bench="kernel", size=name, dtype=dtype, threads=1, gflops=result["GFLOP/s"], peak_share=result["roof"])


def digits(x):
    return f"{x:.3g}" if abs(x) < 100 else f"{x:.0f}"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "| --- |" + " ---: |" * (len(head) - 1)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def label(r):
    names = {"gpt": "GPT", "mlp": "MLP", "attention": "attention", "contraction": "contraction"}
    return f"{names[r['bench']]} {r['size']} {r['dtype']}, {r['threads']} thread" + ("s" if r["threads"] > 1 else "")


def ratios(timed):
    """Label, record, JAX's milliseconds, the ratio and its goal, of every comparison of times."""
    for r in timed:
        yield label(r), r, r["peer_median_ms"], r["ratio"], ratio_goal(r, False)
        if "loop_ratio" in r:
            yield label(r) + ", JAX in its loop", r, r["peer_loop_median_ms"], r["loop_ratio"], ratio_goal(r, True)


def met(ok):
    return "yes" if ok else "**no**"


def profile(timed):
    """Shares of one run by kind of step; the steps' own times, so clocks and all that lies between them are left out."""
    kinds = {"products": ("Contract", "ContractAdd"), "row regions": ("Rows",), "maps": ("Map",), "reductions": ("Reduce",),
             "gathers, scatters": ("Gather", "Scatter")}
    rows = []
    for r in timed:
        steps = dict(r["profile"])
        total = sum(steps.values())
        parts = [sum(steps.pop(name, 0) for name in names) for names in kinds.values()]
        rows.append([label(r), digits(total)] + [f"{part / total:.0%}" for part in parts + [sum(steps.values())]])
    return table(["workload", "all steps, ms", *kinds, "other"], rows)


def tables(records):
    timed = [r for r in records if r["bench"] != "kernel"]
    kernels = {(r["size"], r["dtype"]): r for r in records if r["bench"] == "kernel"}
    times = table(
        ["workload", "ours, min ms", "ours, median ms", "JAX, median ms", "ours / JAX", "goal", "met", "GFLOP/s", "of peak"],
        [[name, digits(r["min_ms"]), digits(r["median_ms"]), digits(theirs), f"{ratio:.2f}",
          "" if goal is None else f"{goal:g}", "" if goal is None else met(ratio <= goal), digits(r["gflops"]),
          f"{r['peak_share']:.0%}"] for name, r, theirs, ratio, goal in ratios(timed)])
    planning = table(
        ["workload", "ours, plan and prepare ms", "JAX, compile ms", "JAX / ours", "goal", "met"],
        [[label(r), digits(r["plan_ms"]), digits(r["peer_compile_ms"]), digits(r["peer_compile_ms"] / r["plan_ms"]),
          f"{1 / PLAN_GOAL:g} and up", met(r["plan_ms"] <= PLAN_GOAL * r["peer_compile_ms"])]
         for r in timed if r["bench"] == "gpt" and r["threads"] == 1])
    memory = table(
        ["workload", "ours, MB", "JAX, MB", "met", "our arena, MB", "XLA's temporaries, MB"],
        [[label(r)] + [digits(r[key] / 1e6) for key in ("peak_bytes", "peer_peak_bytes")]
         + [met(r["peak_bytes"] <= r["peer_peak_bytes"])]
         + [digits(r[key] / 1e6) for key in ("arena_bytes", "peer_arena_bytes")] for r in timed])
    shares = table(
        ["product", "m x n x k", "f32, GFLOP/s", "of peak", "f64, GFLOP/s", "of peak", "goal", "met"],
        [[name, f"{m} x {n} x {k} {layouts}"]
         + [text for dtype in ("f32", "f64") for text in (digits(kernels[name, dtype]["gflops"]),
                                                          f"{kernels[name, dtype]['peak_share']:.0%}")]
         + [f"{SHARE_GOAL:.0%}", met(all(kernels[name, dtype]["peak_share"] >= SHARE_GOAL for dtype in ("f32", "f64")))]
         for name, (m, n, k, layouts) in products().items()])
    return f"""{machine(timed)}

### Time of a run

![ours / JAX](report.svg)

{times}

### Where the time goes

{profile(timed)}

### Planning

{planning}

### Memory

{memory}

### Kernels of the products of a GPT step, base size

{shares}"""


def machine(timed):
    model = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    peaks = {r["dtype"]: r["gflops"] / r["peak_share"] for r in timed if r["threads"] == 1}
    return (f"Measured on {model[1] if model else 'a processor without a name'}; FMA peak of one thread "
            + ", ".join(f"{peak:.0f} GFLOP/s in {dtype}" for dtype, peak in sorted(peaks.items())) + ".")


def picture(records):
    bars = [(name, ratio) for name, _, _, ratio, _ in ratios([r for r in records if r["bench"] != "kernel"])]
    return ratio_picture(bars, "our time / JAX's time")


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("programs", type=pathlib.Path)
    ap.add_argument("--rewrite", action="store_true", help="only write tables and picture again")
    ap.add_argument("--rounds", type=int, default=12)
    args = ap.parse_args()
    results = HERE / "results.json"
    if not args.rewrite:
        records = []
        for record in itertools.chain(run_workloads(args.programs, args.rounds), run_kernels(args.programs)):
            records.append(record)
            results.write_text("[\n" + ",\n".join(map(json.dumps, records)) + "\n]\n")
    records = json.loads(results.read_text())
    readme = HERE / "README.md"
    begin, end = "<!-- written by report.py -->", "<!-- until here -->"
    text = readme.read_text()
    before, after = text[: text.index(begin)], text[text.index(end):]
    readme.write_text(f"{before}{begin}\n\n{tables(records)}\n\n{after}")
    (HERE / "report.svg").write_text(picture(records))


if __name__ == "__main__":
    main()
