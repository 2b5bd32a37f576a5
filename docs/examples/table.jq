# jq -r --arg table trainer0 -f table.jq FILE prints a row for each metric of a rank, in ms. Other tables are
# "all trainer" and "all server".
def quantile(p): sort | .[(length * p | ceil) - 1];
def stdev: (add / length) as $mean
  | if length < 2 then null else (map(. - $mean | . * .) | add) / (length - 1) | sqrt end;

([.processes[] | select(.kind == "trainer" or .kind == "server")
  | select(.name == $table or "all " + .kind == $table) | .rank]) as $ranks
| [.series[] | select(.rank | IN($ranks[]))]
| group_by([.type, .name])[]
| (map(.duration_ns[] / 1e6)) as $ms
| [.[0].type + "," + .[0].name, ($ms | length), ($ms | min), ($ms | quantile(0.5)),
   ($ms | add / length), ($ms | quantile(0.95)), ($ms | max), ($ms | stdev)]
| @tsv
