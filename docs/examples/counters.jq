# jq -r -f counters.jq FILE prints the sum of each counter over the ranks.
.counters // [] | group_by([.type, .name, .unit])[]
| [.[0].type + "," + .[0].name, (map(.value) | add), .[0].unit] | @tsv
