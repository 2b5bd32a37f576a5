package tracetest

import (
	"strings"
	"testing"
)

func TestPerfetto(t *testing.T) {
	push, arrives := flow("s", "", 1, "1"), flow("f", `,"bp":"e"`, 2, "2.5")
	good := file(slice(1, "0.000", "5"), slice(1, "0", "4"), slice(2, "0", "3"), push, arrives)
	if shown, err := Perfetto(strings.NewReader(good)); err != nil || shown != (Shown{3, 1}) {
		t.Errorf("%+v, %v", shown, err)
	}
	both := slice(1, "0", "5") + "," + slice(2, "0", "5")
	other := strings.Replace(slice(2, "2", "1"), `"bucket":1`, `"bucket":2`, 1)
	for want, text := range map[string]string{
		"after x, which it is in":         file(slice(1, "0", "4"), slice(1, "0", "5")),
		"it ends at 6000 ns":              file(slice(1, "0", "5"), slice(1, "1", "5")),
		"of the processes 1 and 2":        file(both, `{"ph":"X","pid":2,"tid":1,"name":"x","ts":9,"dur":1}`),
		"no slice was opened before it":   file(push, slice(1, "2", "3")),
		"no id, or no slice":              file(strings.Replace(push, "0.5", "0.1", 1)),
		"ends before it has begun":        file(both, arrives),
		"begins twice":                    file(both, push, push),
		"bound to the next slice":         file(both, push, flow("f", "", 2, "2")),
		"leads from x map[bucket:1] to x": file(both, other, push, arrives),
		"phase \"B\" are not shown":       file(`{"ph":"B","pid":1,"tid":1,"name":"x","ts":1}`),
		"is of no process and thread":     file(`{"ph":"X","pid":1,"name":"x","ts":1,"dur":1}`),
		"is no time":                      file(`{"ph":"X","pid":1,"tid":1,"name":"x","ts":1}`),
		"it is in 512 others":             file(strings.Repeat(slice(1, "0", "5")+",", 512) + slice(1, "0", "5")),
	} {
		t.Run(want, func(t *testing.T) {
			if _, err := Perfetto(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want ...%s...", err, want)
			}
		})
	}
}
