// Package page writes the documents of core/show/view as HTML: one file that needs no network and no server. The
// browser runs only the script in this package.
package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // for the bundle
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"

	"github.com/psbench/psbench/core/show/view"
)

//go:generate go run -C ../../../web/build .

// These are the script and the styles of every page. The program web/build bundles them from web/src.
var (
	//go:embed bundle/page.js
	script []byte
	//go:embed bundle/page.css
	styles []byte
)

// Write writes a document as a page. Texts of the document reach the page as data, so the browser never interprets
// them as markup.
func Write(w io.Writer, d *view.Document) error {
	// json.Marshal escapes <, > and &, so no text can close the script element that holds the data.
	data, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("the document of %s has no JSON form: %w", d.Name, err)
	}
	var page bytes.Buffer
	page.Grow(len(data) + len(script) + len(styles) + 1<<16)
	fmt.Fprintf(&page, `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="%s">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta name="generator" content="psbench %s">
<title>%s</title>
<style>`, Policy(d.Live != nil), html.EscapeString(d.Psbench), html.EscapeString(d.Title))
	page.Write(styles)
	page.WriteString("</style>\n</head>\n<body>\n<noscript>\n")
	if err := plain.Execute(&page, d); err != nil {
		return fmt.Errorf("the document of %s has no text: %w", d.Name, err)
	}
	page.WriteString("</noscript>\n<script type=\"application/json\" id=\"data\">")
	page.Write(data)
	page.WriteString("</script>\n<script>")
	page.Write(script)
	page.WriteString("</script>\n</body>\n</html>\n")
	_, err = page.WriteTo(w)
	return err
}

// Policy returns the content security policy of pages. It allows only the page's own script and styles, identified by
// hash. A live page may also query its server.
func Policy(live bool) string {
	p := "default-src 'none'; script-src " + hash(script) + "; style-src " + hash(styles) +
		"; base-uri 'none'; form-action 'none'"
	if live {
		p += "; connect-src 'self'; img-src 'self'" // browsers request an icon from any server
	}
	return p
}

func hash(text []byte) string {
	sum := sha256.Sum256(text)
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
