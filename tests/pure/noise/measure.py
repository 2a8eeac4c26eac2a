#!/usr/bin/env python3
"""Measures what tests/pure/noise.rs judges: late.csv and busy.csv, each beside its experiment. As root:

    tests/pure/noise/measure.py late      (about ten minutes; `chrt -r 1` keeps the CPU for it where others are busy)
    tests/pure/noise/measure.py busy

It copies the project to a folder of its own, adds the engine late.rs with its row, builds it, runs the experiment on loop
devices, and writes the headline metric of each round and candidate, with how it was made in the head.
"""

import datetime
import json
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PROJECT = HERE.parent.parent
METRIC = "transactions.rate"
# Who measures decides under whom: a machine that does nothing else needs neither.
COMMAND = {"late": ["chrt", "-r", "1"], "busy": []}


def build(copy):
    shutil.copytree(PROJECT, copy, ignore=shutil.ignore_patterns(".git", "target", "results"))
    shutil.copy(HERE / "late.rs", copy / "src/workloads/late.rs")
    table = copy / "src/workloads/mod.rs"
    text = table.read_text()
    text = text.replace("pub mod kit;\n", "pub mod kit;\nmod late;\n", 1)
    text = text.replace("    // One row a line.\n", "    // One row a line.\n    &late::Late,\n", 1)
    table.write_text(text)
    subprocess.run(["cargo", "build", "--locked", "--quiet"], cwd=copy, check=True)
    return next(copy.glob("target/*/debug/fsderby"))


def measured(folder):
    """Records by round and label, of those that are counted."""
    rounds = {}
    for line in (folder / "trials.jsonl").read_text().splitlines():
        record = json.loads(line)
        if record["purpose"] == "measure" and record["outcome"] == "done":
            rounds.setdefault(record["round"], {})[record["filesystem"]] = record
    return rounds


def value(record):
    return next(m["value"] for m in record["metrics"] if m["name"] == METRIC)


def table(folder, how):
    rounds = measured(folder)
    records = [record for labels in rounds.values() for record in labels.values()]
    labels = sorted({label for of in rounds.values() for label in of}, key=lambda l: (len(l), l))
    loads = [record["circumstances"]["load"] for record in records]
    seconds = [record["circumstances"]["host_ns"] / 1e9 for record in records]
    yield f"# {METRIC} of each round and candidate; tests/pure/noise/measure.py makes this file."
    yield f"# {how}"
    yield f"# {datetime.date.today()}, Linux {platform.release()}, {os.cpu_count()} CPUs; load before a trial {min(loads):.1f} to {max(loads):.1f}"
    yield f"# (median {statistics.median(loads):.1f}); a trial took {statistics.median(seconds):.2f} s (median)"
    yield ",".join(["round", *labels])
    for number, of in sorted(rounds.items()):
        if len(of) == len(labels):
            yield ",".join([str(number), *(f"{value(of[label]):.3f}" for label in labels)])


def main():
    (name,) = sys.argv[1:]
    with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
        place = pathlib.Path(place)
        fsderby = build(place / "project")
        words = ["run", f"tests/pure/noise/{name}.toml", "--on", "loop:/var/tmp"]
        command = [*COMMAND[name], fsderby, *words, "--quiet", "--output", place / "run"]
        subprocess.run(command, cwd=PROJECT, check=True, stdout=subprocess.DEVNULL)
        how = " ".join([*COMMAND[name], "fsderby", *words])
        (HERE / f"{name}.csv").write_text("\n".join(table(place / "run", how)) + "\n")


if __name__ == "__main__":
    main()
