"""Prints the quartiles of each gauge: python3 gauges.py FILE"""

import gzip
import json
import sys

import pandas as pd

path = sys.argv[1]
with (gzip.open if path.endswith(".gz") else open)(path, "rt") as file:
    gauges = json.load(file).get("gauges", [])


def frame(gauge):
    columns = pd.DataFrame(gauge)
    columns[["key_a", "key_b"]] = columns[["key_a", "key_b"]].cumsum()
    return columns


observations = pd.concat([frame(g) for g in gauges], ignore_index=True)
of_all_ranks = observations.groupby(["type", "name", "unit"])["value"]
of_all_ranks.quantile([0.25, 0.5, 0.75], interpolation="lower").unstack().to_csv(sys.stdout)
