package page

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/net/html"

	"github.com/psbench/psbench/core/show/view"
	"github.com/psbench/psbench/internal/golden"
)

func document(t testing.TB) *view.Document {
	t.Helper()
	data, err := os.ReadFile("../../../web/testdata/study.json")
	if err != nil {
		t.Fatal(err)
	}
	d := &view.Document{}
	// The JavaScript tests read the same file. A field that view.Document lacks is a mistake in that file.
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(d); err != nil {
		t.Fatal(err)
	}
	return d
}

func written(t testing.TB, d *view.Document) []byte {
	t.Helper()
	var page bytes.Buffer
	if err := Write(&page, d); err != nil {
		t.Fatal(err)
	}
	return page.Bytes()
}

// elements returns the tags of a page in order, and the embedded data. With scripting false, it also parses the
// markup inside noscript, as a browser without scripts does.
func elements(t testing.TB, page []byte, scripting bool) (tags []string, data string) {
	t.Helper()
	root, err := html.ParseWithOptions(bytes.NewReader(page), html.ParseOptionEnableScripting(scripting))
	if err != nil {
		t.Fatal(err)
	}
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		tag := n.Data
		for _, a := range n.Attr {
			tag += " " + a.Key
			if a.Key == "id" && a.Val == "data" && n.FirstChild != nil {
				data = n.FirstChild.Data
			}
		}
		tags = append(tags, tag)
	}
	return tags, data
}

func TestPageHasTheDocument(t *testing.T) {
	d := document(t)
	page := written(t, d)
	_, data := elements(t, page, true)
	var back view.Document
	if err := json.Unmarshal([]byte(data), &back); err != nil {
		t.Fatal(err)
	}
	want, _ := json.Marshal(d)
	got, _ := json.Marshal(back)
	if !bytes.Equal(got, want) {
		t.Error("the data in the page is not the document")
	}
	d.Title = "adam/sgd at 1/2 size"
	if page := written(t, d); !bytes.Contains(page, []byte("<title>adam/sgd at 1/2 size</title>")) ||
		!bytes.Contains(page, []byte("<h1>adam/sgd at 1/2 size</h1>")) {
		t.Error("a name with slashes is cut")
	}
	for _, text := range []string{"<title>study</title>", "is fastest", "baseline", "out of memory &lt;b&gt;cannot"} {
		t.Run(text, func(t *testing.T) {
			if !bytes.Contains(page, []byte(text)) {
				t.Errorf("the page has no %q", text)
			}
		})
	}
}

// The policy allows exactly the page's own script and styles, and the page requests nothing else.
func TestPolicy(t *testing.T) {
	d := document(t)
	page := string(written(t, d))
	for name, part := range map[string]string{"script-src": between(page, "<script>", "</script>"),
		"style-src": between(page, "<style>", "</style>")} {
		t.Run(name, func(t *testing.T) {
			if want := name + " " + hash([]byte(part)); part == "" || !strings.Contains(page, want) {
				t.Errorf("the policy has no %s", want)
			}
		})
	}
	if !strings.Contains(page, `content="default-src 'none'; `) || strings.Contains(page, "connect-src") ||
		strings.Contains(page, "unsafe") {
		t.Errorf("the policy of a page that has ended is %s", between(page, `Policy" content="`, `"`))
	}
	if outside := regexp.MustCompile(`(?i)(src|href|action)\s*=\s*["']?https?:|@import|url\(`).FindString(
		string(styles) + page[:strings.Index(page, `id="data"`)]); outside != "" {
		t.Errorf("the page asks for something from outside: %s", outside)
	}
	d.Live = &view.Live{}
	if page := string(written(t, d)); !strings.Contains(page, "; connect-src 'self'") {
		t.Error("a live page cannot ask its server")
	}
}

func between(text, from, to string) string {
	_, rest, _ := strings.Cut(text, from)
	inner, _, _ := strings.Cut(rest, to)
	return inner
}

func TestNothingIsWrittenOfWhatHasNoJSON(t *testing.T) {
	d := document(t)
	d.Runs[0].Iterations, d.Details[0].Lanes[0].MinMS[0] = 1, zero()/zero()
	var page bytes.Buffer
	if err := Write(&page, d); err == nil || page.Len() > 0 {
		t.Errorf("a document with NaN gives %v and %d bytes", err, page.Len())
	}
}

func zero() float64 { return 0 }

// Texts never change the page's elements, and the embedded data contains the texts unchanged.
func FuzzTextsStayText(f *testing.F) {
	for _, text := range []string{"</script><script>alert(1)</script>", "<!--<script>", "]]>",
		"</noscript><img src=x onerror=alert(1)>", "</title>", "\u2028\"'`&lt;", "\x00\xff", `\u003c/script>`,
		"</style>", "{{.Name}}"} {
		f.Add(text)
	}
	// The real bundle is constant and slow to parse, so tiny replacements suffice.
	defer func(was, styled []byte) { script, styles = was, styled }(script, styles)
	script, styles = []byte("0"), []byte("a{}")
	whole := document(f)
	whole.Details, whole.Runs, whole.Judged = whole.Details[:1], whole.Runs[:1], nil
	data, err := json.Marshal(whole)
	if err != nil {
		f.Fatal(err)
	}
	small := func() (d *view.Document) {
		if err := json.Unmarshal(data, &d); err != nil {
			f.Fatal(err)
		}
		return d
	}
	plain := small()
	spoil(plain, "text")
	want := map[bool][]string{}
	for _, scripting := range []bool{true, false} {
		want[scripting], _ = elements(f, written(f, plain), scripting)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d := small()
		spoil(d, text)
		page := written(t, d)
		for _, scripting := range []bool{true, false} {
			got, data := elements(t, page, scripting)
			if strings.Join(got, "\n") != strings.Join(want[scripting], "\n") {
				t.Fatalf("with %q the page has other elements", text)
			}
			var back view.Document
			if err := json.Unmarshal([]byte(data), &back); err != nil {
				t.Fatal(err)
			}
			if got := back.Details[0].Config[0].Value; utf8.ValidString(text) && got != text {
				t.Fatalf("of %q the page has %q", text, got)
			}
		}
	})
}

// spoil puts text wherever a document has words from outside.
func spoil(d *view.Document, text string) {
	d.Name, d.Title, d.Heading, d.Machine, d.Psbench = text, text, text, text, text
	for name, j := range d.Judged {
		j.FloorText = text + "."
		d.Judged[name] = j
	}
	d.Sentences[0] = view.Sentence{Label: text, Text: text}
	d.Warnings[0] = text
	d.Axes[0].Name, d.Axes[0].Values[0] = text, text
	for i := range d.Cells {
		d.Cells[i].Name, d.Cells[i].Reason = text, text+"."
		for j := range d.Cells[i].Failed {
			d.Cells[i].Failed[j].Reason = text
			for k := range d.Cells[i].Failed[j].Logs {
				d.Cells[i].Failed[j].Logs[k].Tail = text
			}
		}
	}
	for i := range d.Details {
		d.Details[i].Config[0].Value = text
		d.Details[i].Command[0] = text
	}
	d.Runs[0].Folder = text
	d.Environments[0].Facts[0].Value = text
}

// The HTML parser would cut a script that contains its own end tag or the start of a comment. The browser would then
// hash a different script.
func TestBundleFitsIntoAnElement(t *testing.T) {
	for _, part := range []string{"</script", "<!--", "<script"} {
		t.Run(part, func(t *testing.T) {
			if bytes.Contains(bytes.ToLower(script), []byte(part)) {
				t.Errorf("page.js contains %s", part)
			}
		})
	}
	if bytes.Contains(bytes.ToLower(styles), []byte("</style")) {
		t.Error("page.css contains </style")
	}
	for name, file := range map[string][]byte{"page.js": script, "page.css": styles} {
		t.Run(name, func(t *testing.T) {
			if !utf8.Valid(file) || bytes.ContainsRune(file, 0) {
				t.Errorf("%s is not UTF-8 without NUL, so a browser would hash something else", name)
			}
		})
	}
}

// The page without scripts equals the golden files, for a study and for a single run.
func TestPlain(t *testing.T) {
	single := document(t)
	single.Cells, single.Title = single.Cells[:1], "one <run>"
	single.Cells[0].Runs = single.Cells[0].Runs[:1]
	for name, d := range map[string]*view.Document{"plain.html": document(t), "plain-run.html": single} {
		t.Run(name, func(t *testing.T) {
			golden.Require(t, "testdata/"+name, between(string(written(t, d)), "<noscript>\n", "</noscript>"))
		})
	}
}
