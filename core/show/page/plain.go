package page

import (
	"fmt"
	"html/template"
	"strings"

	"github.com/psbench/psbench/core/show/view"
	"github.com/psbench/psbench/internal/numeral"
	"github.com/psbench/psbench/internal/screen"
)

// plain is the page for browsers without scripts. It has everything except pictures and details.
var plain = template.Must(template.New("plain").Funcs(template.FuncMap{
	"rows": rows,
}).Parse(`<main class="plain">
<h1>{{.Title}}</h1>
<p>{{.Heading}}</p>
<p>{{.Machine}}</p>
<p>Pictures, details and sorting need JavaScript, which is off here. The results:</p>
<dl>{{range .Sentences}}<dt>{{.Label}}</dt><dd>{{.Text}}</dd>{{end}}{{range .Remarks}}<dt>{{.Label}}</dt><dd>{{.Text}}</dd>{{end}}</dl>
{{with .Warnings}}<ul>{{range .}}<li>{{.}}</li>{{end}}</ul>{{end}}
{{with rows .}}<table><thead><tr><th>cell</th><th>median</th><th>change</th><th>runs</th><th></th></tr></thead>
<tbody>{{range .}}<tr><th scope="row">{{.Name}}</th><td>{{.Median}}</td><td>{{.Change}}</td><td>{{.Runs}}</td><td>{{.Note}}</td></tr>
{{end}}</tbody></table>{{end}}
</main>
`))

// row is one cell of a study in the table without scripts.
type row struct {
	Name           string
	Runs           int
	Median, Change string
	Note           string
}

// rows returns the cells, with values of the document's own metric and compared with its own baseline. For a single
// run it returns nothing, because the sentences already state the value.
func rows(d *view.Document) []row {
	if d.OneRun() {
		return nil
	}
	judged := d.Judged[d.Metric]
	against := judged.Against[d.Baseline]
	var rows []row
	for i, c := range d.Cells {
		r := row{Name: c.Name, Runs: len(c.Runs), Median: "–", Note: c.State}
		if c.Again {
			r.Name += ", again"
		}
		if c.Reason != "" {
			r.Note += ": " + c.Reason
		}
		if i < len(judged.Estimates) && judged.Estimates[i] != nil {
			r.Median = shown(judged.Estimates[i].Median)
		}
		switch {
		case i == d.Baseline:
			r.Change = "baseline"
		case i < len(against) && against[i] != nil:
			r.Change = change(against[i])
		}
		rows = append(rows, r)
	}
	return rows
}

// change returns a change and its verdict. A difference gets the unit of the median.
func change(c *view.Change) string {
	text := ""
	switch {
	case c.Change != nil:
		text = fmt.Sprintf("%+.1f %%", 100**c.Change)
	case c.Difference != nil && c.Difference.Change != nil:
		if text = shown(c.Difference.Change); *c.Difference.Change > 0 {
			text = "+" + text
		}
	default:
		return ""
	}
	return strings.Replace(text, "-", "−", 1) + ", " + string(c.Verdict)
}

// shown formats a number as the page's script does. It returns a dash for nil.
func shown(x *float64) string {
	if x == nil || !numeral.Finite(*x) {
		return "–"
	}
	return screen.Number(*x)
}
