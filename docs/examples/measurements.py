"""Prints the p50 of each metric in ms, with a column for each rank: python3 measurements.py FILE"""

import gzip
import json
import sys

import pandas as pd

path = sys.argv[1]
with (gzip.open if path.endswith(".gz") else open)(path, "rt") as file:
    result = json.load(file)


def frame(series):
    columns = pd.DataFrame(series)
    for name in "key_a", "key_b", "start_ns":
        columns[name] = columns[name].cumsum()
    columns["start_ns"] += result["started_ns"]
    return columns


measurements = pd.concat([frame(s) for s in result["series"]], ignore_index=True)
measurements["ms"] = measurements["duration_ns"] / 1e6
p50 = measurements.groupby(["type", "name", "rank"])["ms"].quantile(0.5, interpolation="lower")
p50.unstack("rank").to_csv(sys.stdout, float_format="%.6f")
