"""Seconds and accuracy on the reference problems, next to scikit-learn-intelex and scikit-learn.

Each library runs in a process of its own; every answer is judged by the evaluator of the tests, not
by what the library says of itself. Libraries take turns case by case, so that they meet the same
state of the machine.
"""

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from statistics import geometric_mean

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tests" / "python"))

from evaluate import evaluate
from reference import cases

LIBRARIES = ("exactsvm", "sklearnex", "sklearn")
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "RAYON_NUM_THREADS",
)
# Some machines are set up to change what OpenBLAS finds out by itself; no library is to suffer or
# gain from it.
FOREIGN_VARIABLES = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")


class Worker:
    """One library in its process, restarted when it had to be killed."""

    def __init__(self, library, threads):
        self.library, self.threads = library, threads
        self.process, self.version = None, None

    def start(self):
        environment = {k: v for k, v in os.environ.items() if k not in FOREIGN_VARIABLES}
        environment.update(dict.fromkeys(THREAD_VARIABLES, str(self.threads)))
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "worker.py"), self.library],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        self.version = self.read(120)["ready"]

    def read(self, seconds):
        """The next answer, None if it does not come in time. Other output is passed over."""
        timer = _Killer(self.process, seconds)
        while line := self.process.stdout.readline():
            if line.startswith("{"):
                timer.cancel()
                return json.loads(line)
        timer.cancel()
        self.process.wait()
        if timer.fired:
            return None
        raise RuntimeError(
            f"the process of {self.library} ended with code {self.process.returncode}"
        )

    def ask(self, cap, **request):
        if self.process is None or self.process.poll() is not None:
            self.start()
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        started = self.read(120)
        if started is None or "error" in started:
            return started or {"error": "did not start"}
        first = self.read(cap)
        if first is None:
            return {"seconds": float(cap), "unfinished": True}
        # Repetitions follow only after short fits, see the worker.
        return (
            first if "error" in first else self.read(120) or {"error": "a repetition did not end"}
        )

    def close(self):
        if self.process is not None and self.process.poll() is None:
            self.process.stdin.close()
            self.process.wait(10)


class _Killer:
    def __init__(self, process, seconds):
        import threading

        self.process, self.fired = process, False
        self.timer = threading.Timer(seconds, self.fire)
        self.timer.daemon = True
        self.timer.start()

    def fire(self):
        self.fired = True
        self.process.kill()

    def cancel(self):
        self.timer.cancel()


def judge(c, answer):
    """Replace the solution in an answer by what it is worth."""
    if "alpha" not in answer:
        return answer
    X, y = c.load()
    e = evaluate(X, y, c.C, answer.pop("alpha"), answer.pop("intercept"), **c.kernel_arguments)
    scale = max(1.0, abs(c.minimum))
    answer.update(
        violation=e.violation,
        relative_gap=e.relative_gap,
        floor=e.floor,
        objective_error=abs(e.dual + c.minimum) / scale,
        reached=e.violation <= max(1e-9, e.floor),
    )
    return answer


def cell(answer):
    if "error" in answer:
        return f"{'error':>10}{'':>10}{'':>10}"
    if answer.get("unfinished"):
        return f"{'>' + format(answer['seconds'], '.0f'):>10}{'-':>10}{'-':>10}"
    return f"{answer['seconds']:>10.4f}{answer['violation']:>10.1e}{answer['relative_gap']:>10.1e}"


def machine():
    name = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = [line for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
        name = lines[0].split(":", 1)[1].strip() if lines else name
    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "processor": name,
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "python": platform.python_version(),
    }


def ratios(rows, library):
    """(ratio, name) of the other library's seconds to ours, where both have an answer."""
    pairs = [
        (r[library], r["exactsvm"], r["case"]) for r in rows if library in r and "exactsvm" in r
    ]
    return sorted(
        (b["seconds"] / a["seconds"], name)
        for b, a, name in pairs
        if "error" not in a and "error" not in b
    )


def summary(rows, fixed):
    lines = []
    for library in LIBRARIES[1:]:
        found = ratios(rows, library)
        if not found:
            continue
        slower = [f"{name} ({ratio:.2f})" for ratio, name in found if ratio < 1]
        mean = geometric_mean(ratio for ratio, _ in found)
        least, greatest = found[0], found[-1]
        lines += [
            f"{library} / exactsvm over {len(found)} cases: geometric mean {mean:.2f}, "
            f"least {least[0]:.2f} ({least[1]}), greatest {greatest[0]:.1f} ({greatest[1]})",
            f"  cases in which exactsvm is slower: {len(slower)} {', '.join(slower)}",
        ]
    for library in LIBRARIES:
        answers = [r[library] for r in rows if library in r]
        if answers:
            reached = sum(a.get("reached", False) for a in answers)
            lines.append(
                f"{library}: violation of at most max(1e-9, floor) in {reached} of "
                f"{len(answers)}, unfinished {sum(a.get('unfinished', False) for a in answers)}, "
                f"errors {sum('error' in a for a in answers)}"
            )
    for library, answer in fixed.items():
        if "microseconds" in answer:
            lines.append(
                f"fit of 100 x 10 points, {library}: {answer['microseconds']:.0f} microseconds"
            )
        else:
            lines.append(f"fit of 100 x 10 points, {library}: {answer}")
    return "\n".join(lines)


def work_table(rows):
    names = (
        "n_cycles",
        "n_sweeps",
        "n_newton_steps",
        "n_pair_steps",
        "n_appends",
        "n_deletes",
        "n_dependent",
        "n_refactorizations",
    )
    lines = [
        "",
        "Work of exactsvm",
        f"{'case':34}" + "".join(f"{n.removeprefix('n_')[:9]:>10}" for n in names),
    ]
    for r in rows:
        work = r.get("exactsvm", {}).get("work")
        if work:
            lines.append(f"{r['case']:34}" + "".join(f"{work[n]:>10}" for n in names))
    return "\n".join(lines) if len(lines) > 3 else ""


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--least-n", type=int, default=500, help="cases with at least that many points (500)"
    )
    parser.add_argument(
        "--filter", default="", help="cases whose name contains this; several separated by commas"
    )
    parser.add_argument("--every", type=int, default=1, help="take every k-th case only")
    parser.add_argument("--libraries", default=",".join(LIBRARIES))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument(
        "--cap", type=float, default=60, help="seconds; an unfinished fit counts as that (60)"
    )
    parser.add_argument("--json", type=Path, default=HERE.parent / "results" / "compare.json")
    parser.add_argument("--list", action="store_true", help="print the names of the cases and stop")
    return parser.parse_args()


def main():
    options = arguments()
    wanted = [f for f in options.filter.split(",") if f]
    chosen = [
        c
        for c in cases()
        if c.n >= options.least_n and (not wanted or any(f in c.name for f in wanted))
    ]
    chosen = chosen[:: options.every]
    if options.list:
        print("\n".join(c.name for c in chosen))
        return
    workers = {name: Worker(name, options.threads) for name in options.libraries.split(",")}
    for worker in workers.values():
        worker.start()
    facts = machine() | {"threads": options.threads, "cap": options.cap}
    facts["versions"] = {name: w.version for name, w in workers.items()}
    print(", ".join(f"{k} {v}" for k, v in facts.items()))
    print(
        "exactsvm and sklearnex at tol 1e-9, sklearn at its default; "
        "each: seconds, violation, relative gap\n"
    )
    print(f"{'case':34}" + "".join(f"{name:>30}" for name in workers))

    fixed = {
        name: w.ask(options.cap, tol=None, threads=options.threads) for name, w in workers.items()
    }
    rows, began = [], time.time()
    for c in chosen:
        row = {"case": c.name, "n": c.n}
        for name, worker in workers.items():
            answer = worker.ask(options.cap, case=c.name, tol=None, threads=options.threads)
            row[name] = judge(c, answer)
        rows.append(row)
        print(f"{c.name:34}" + "".join(cell(row[name]) for name in workers), flush=True)
        for name in workers:
            if "error" in row[name]:
                print(f"  {name}: {row[name]['error']}")
    for worker in workers.values():
        worker.close()

    print(f"\n{summary(rows, fixed)}\n{work_table(rows)}\ntotal {time.time() - began:.0f} s")
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(
        json.dumps({"machine": facts, "fixed": fixed, "cases": rows}, indent=1) + "\n"
    )
    print(f"written to {options.json}")


if __name__ == "__main__":
    main()
