package tracetest

import (
	"fmt"
	"strings"
	"testing"
)

const names = `{"ph":"M","pid":1,"tid":0,"name":"process_name","args":{"name":"a"}},
{"ph":"M","pid":2,"tid":0,"name":"process_name","args":{"name":"b"}},
{"ph":"M","pid":1,"tid":1,"name":"thread_name","args":{"name":"compute"}},
{"ph":"M","pid":2,"tid":2,"name":"thread_name","args":{"name":"work"}}`

func file(events ...string) string {
	return `{"displayTimeUnit":"ms","otherData":{},"traceEvents":[` + strings.Join(append([]string{names}, events...),
		",") + `]}`
}

func slice(thread int, ts, dur string) string {
	return fmt.Sprintf(`{"ph":"X","pid":%d,"tid":%[1]d,"name":"x","cat":"y","ts":%s,"dur":%s,"args":{"bucket":1}}`,
		thread, ts, dur)
}

func flow(phase, rest string, thread int, ts string) string {
	return fmt.Sprintf(`{"ph":%q,"pid":%d,"tid":%[2]d,"name":"push","cat":"flow","id":1%s,"ts":%s}`, phase, thread,
		rest, ts)
}

func TestRead(t *testing.T) {
	good := file(slice(1, "0.000", "5"), slice(1, "1", "4"), slice(2, "0", "3"), flow("s", "", 1, "1"),
		flow("f", `,"bp":"e"`, 2, "2.5"))
	trace, err := Read(strings.NewReader(good))
	if err != nil || len(trace.Slices) != 3 || trace.Flows["push"] != 1 || trace.Threads[[2]int{2, 2}] != "work" {
		t.Errorf("%+v, %v", trace, err)
	}
}

// Each of these traces has one fault, and the error names it.
func TestReadRefuses(t *testing.T) {
	both := slice(1, "0", "5") + "," + slice(2, "0", "5") + ","
	for want, text := range map[string]string{
		"unexpected EOF":       `{"displayTimeUnit":"ms"`,
		"something follows":    file() + "{}",
		"unknown field":        `{"displayTimeUnit":"ms","events":[]}`,
		"the unit shown":       `{"displayTimeUnit":"ns","traceEvents":[]}`,
		"overlaps":             file(slice(1, "0", "5"), slice(1, "1", "5")),
		"negative":             file(slice(1, "-1", "5")),
		"whole ns":             file(slice(1, "0.0001", "5")),
		"no time":              file(`{"ph":"X","pid":1,"tid":1,"name":"x","cat":"y"}`),
		"has no name":          file(slice(3, "0", "5")),
		"has no process":       file(`{"ph":"X","tid":1,"name":"x"}`),
		"has the argument":     file(`{"ph":"X","pid":1,"tid":1,"name":"x","cat":"y","ts":1,"dur":1,"args":{"bucket":-1}}`),
		"not a beginning and":  file(both + flow("s", "", 1, "1")),
		"has two of":           file(both + flow("s", "", 1, "1") + "," + flow("s", "", 1, "1")),
		"from 3000 to 9000":    file(both + flow("s", "", 1, "3") + "," + flow("f", `,"bp":"e"`, 2, "9")),
		"a beginning and then": file(both + flow("s", "", 1, "3") + "," + flow("f", `,"bp":"e"`, 2, "2")),
		"is not bound":         file(both + flow("s", "", 1, "3") + "," + flow("f", "", 2, "4")),
		"to itself":            file(both + flow("s", "", 1, "3") + "," + flow("f", `,"bp":"e"`, 1, "4")),
		"different buckets": file(both + strings.Replace(slice(2, "5", "5"), `"bucket":1`, `"bucket":2`,
			1) + "," + flow("s", "", 1, "3") + "," + flow("f", `,"bp":"e"`, 2, "6")),
		"two names":               file(`{"ph":"M","pid":1,"tid":0,"name":"process_name","args":{"name":"a"}}`),
		"there are two threads 1": file(`{"ph":"M","pid":2,"tid":1,"name":"thread_name","args":{"name":"a"}}`),
		"unknown metadata":        file(`{"ph":"M","pid":2,"tid":1,"name":"label","args":{"name":"a"}}`),
		"unknown phase":           file(`{"ph":"B","pid":1,"tid":1,"name":"x","cat":"y","ts":1}`),
		"has the arguments":       file(`{"ph":"M","pid":1,"tid":0,"name":"process_sort_index","args":{"name":1}}`),
	} {
		t.Run(want, func(t *testing.T) {
			if _, err := Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want ...%s...", text, err, want)
			}
		})
	}
}
