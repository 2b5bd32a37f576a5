package result

import (
	"strings"
	"testing"
)

// If a file of this schema contains invalid data, the error gives the position and the series.
func TestRefusedSeries(t *testing.T) {
	const (
		before = "{\"schema\":\"psbench.result/2\",\"complete\":true,\n\"processes\":[{\"rank\":4,\"kind\":\"trainer\"},{\"rank\":5,\"kind\":\"server\"}]"
		first  = `{"rank":4,"type":"a","name":"b","key_a":[1],"key_b":[1],"start_ns":[1],"duration_ns":[1]}`
	)
	series := func(more string) string { return before + ",\n\"series\":[\n" + first + ",\n" + more + "]}" }
	for name, test := range map[string]struct{ text, want string }{
		"lengths": {series(
			`{"rank":5,"type":"a","name":"b","key_a":[ -1 , 2],"key_b":[ ],"start_ns":[],"duration_ns":[3,1]}`),
			"line 5, column 1: series 1 (rank 5, a, b): its columns have unequal lengths: 2 key_a, 0 key_b, 0 start_ns, 2 duration_ns"},
		"same": {series(first),
			"line 5, column 1: series 1 (rank 4, a, b): another one has the same rank, type and name"},
		"case": {before + `,"SERIES":[]}`,
			`line 2, column 70: unknown key "SERIES"; did you mean "series"?`},
		"no element": {series(""), `line 5, column 1: invalid character ']' looking for beginning of value`},
		"case of a noise": {before + `,"noise":[{"machine":{"Cores":1}}]}`,
			`line 2, column 91: unknown key "Cores" of noise.machine; did you mean "cores"?`},
		"after the series": {before + ",\"series\":[\n" + first + "\n, \n" +
			`{"name":"c"}  ],"lossés":1,"Complete":true}`, `line 5, column 17: unknown key "lossés"`},
		"key twice": {before + `,"complete":true}`, `line 2, column 70: key "complete" is given twice`},
		"list twice": {before + `,"series":[],"series":[` + first + `]}`,
			`line 2, column 82: key "series" is given twice`},
		"empty list twice": {before + `,"series":[],"losses":[],"series":[]}`,
			`line 2, column 94: key "series" is given twice`},
		"null list":      {before + `,"series":null}`, `line 2, column 83: "series" must be a list`},
		"null series":    {series("null"), `line 5, column 1: series 1: it is null, but must be an object: {...}`},
		"list as series": {series(" [1]"), `line 5, column 2: series 1: it is [1], but must be an object: {...}`},
		"case in a series": {series(`{"rank":4,"Type":"x"}`),
			`line 5, column 18: series 1: unknown key "Type"; the keys are rank, type, name, key_a, key_b, start_ns, duration_ns`},
		"twice in one": {series(`{"rank":4,"rank":5}`), `line 5, column 18: series 1: key "rank" is given twice`},
		"rank": {series(`{"rank":4.5}`),
			`line 5, column 9: series 1: rank is 4.5 but must be a whole number`},
		"type": {series(`{"type":null}`), `line 5, column 9: series 1: type is null but must be a string`},
		"name": {series(`{"name":["x"]}`),
			`line 5, column 9: series 1: name is ["x"] but must be a string`},
		"null in a column": {series(`{"rank":5,"type":"x","name":"y z","start_ns":[1, null]}`),
			`line 5, column 50: series 1 (rank 5, x, y z): start_ns has null but must have whole numbers`},
		"fraction": {series("{\"rank\":5,\"key_a\":[\n1,\n1.5]}"),
			`line 7, column 1: series 1 (rank 5, "", ""): key_a has 1.5 but must have whole numbers`},
		"string": {series(`{"key_b":["1,2"]}`), `has "1 but must have whole numbers`},
		"null column": {series(`{"key_b":null}`),
			`line 5, column 10: series 1 (rank 0, "", ""): key_b is null, but must be a list of whole numbers`},
		"object column": {series(`{"key_b":{"a":1}}`), `key_b is {"a":1}, but must be a list of whole numbers`},
		"connected": {before + `,"connected":[[4],[4,5]]}`,
			`set 1 of "connected" has rank 5, but no trainer of "processes" has that rank`},
		"schema": {`{"schema":2}`,
			`schema is "2", but this psbench reads "psbench.result/2" and "psbench.result/1"`},
		"loss": {before + `,"losses":[["x"]]}`,
			`a loss or a parameter is "x", but must be a number or null`},
		"head": {before + ",\n\"started_ns\":1.5}",
			`line 3, column 14: the value must be a whole number that fits in 64 bits, not 1.5`},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := parse([]byte(test.text)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: error is %v, want %s", name, err, test.want)
			}
		})
	}
	if r, err := parse([]byte(series(`{"rank":4,"type":"a","name":"c"}`))); err != nil || len(r.Series) != 2 {
		t.Errorf("two series that differ: %v", err)
	}
	if _, err := parse([]byte(`{"schema":"psbench.result/2","connected":[[0,1]]}`)); err != nil {
		t.Errorf("a run that ended before its trainers were there: %v", err)
	}
}
