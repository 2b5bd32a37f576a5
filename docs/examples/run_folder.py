"""Prints the same as measurements.py for a run folder: python3 run_folder.py DIR"""

import json
import pathlib
import sys

import numpy as np
import pandas as pd

run = pathlib.Path(sys.argv[1])
series = pd.DataFrame(json.loads((run / "result.json").read_text())["series"])

heads = series[["rank", "type", "name"]]
measurements = heads.loc[np.repeat(series.index, series["count"])].reset_index(drop=True)
for name in "key_a", "key_b", "start_ns", "duration_ns":
    measurements[name] = np.load(run / "samples" / f"series.{name}.npy")
measurements["ms"] = measurements["duration_ns"] / 1e6
p50 = measurements.groupby(["type", "name", "rank"])["ms"].quantile(0.5, interpolation="lower")
p50.unstack("rank").to_csv(sys.stdout, float_format="%.6f")
