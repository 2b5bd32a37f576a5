// Command build bundles the page: the modules of web/src become one script and its styles one style sheet, both
// minified. The command has its own Go module, so psbench does not depend on the bundler.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/evanw/esbuild/pkg/api"
)

func main() {
	source := flag.String("source", "../src", "folder with main.js and main.css")
	out := flag.String("out", "../../core/show/page/bundle", "folder for page.js and page.css")
	flag.Parse()
	if err := build(*source, *out); err != nil {
		fmt.Fprintln(os.Stderr, "build:", err)
		os.Exit(1)
	}
}

// build writes the bundle. Both files keep the licence comments of their sources.
func build(source, out string) error {
	for entry, format := range map[string]api.Format{"main.js": api.FormatIIFE, "main.css": api.FormatDefault} {
		r := api.Build(api.BuildOptions{
			EntryPoints: []string{filepath.Join(source, entry)},
			Outfile:     filepath.Join(out, "page"+filepath.Ext(entry)),
			Bundle:      true,
			Format:      format,
			Target:      api.ES2020,
			Engines: []api.Engine{{Name: api.EngineChrome, Version: "110"},
				{Name: api.EngineFirefox, Version: "110"}, {Name: api.EngineSafari, Version: "16"}},
			Charset:           api.CharsetUTF8,
			LegalComments:     api.LegalCommentsInline,
			MinifyWhitespace:  true,
			MinifyIdentifiers: true,
			MinifySyntax:      true,
			LogLevel:          api.LogLevelWarning,
			Write:             true,
		})
		if len(r.Errors)+len(r.Warnings) > 0 {
			return fmt.Errorf("%s has %d errors and %d warnings", entry, len(r.Errors), len(r.Warnings))
		}
	}
	return nil
}
