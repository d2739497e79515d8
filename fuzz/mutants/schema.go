package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// switchSource is the package stoamutant that mutated code asks. It is no part
// of the module: the overlay puts it there.
//
//go:embed testdata/switch.go.txt
var switchSource []byte

const switchPath = "github.com/stoadb/stoa/stoamutant"

// schema is the tree with all mutants in it, as an overlay for go build.
type schema struct {
	root    string // of the module
	scratch string // a folder for the overlay and what is built with it
	sites   []*site
}

// findSites lists the mutants of the packages, and gives them numbers from 1.
func findSites(root string, packages []string) ([]*site, error) {
	var all []*site
	for _, name := range packages {
		files, err := goFiles(root, name)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			source, err := os.ReadFile(filepath.Join(root, file))
			if err != nil {
				return nil, err
			}
			found, err := sites(file, source)
			if err != nil {
				return nil, err
			}
			all = append(all, found...)
		}
	}
	for i, s := range all {
		s.id = i + 1
	}
	return all, nil
}

// goFiles lists the files of a package that are built here and hold no C.
func goFiles(root, name string) ([]string, error) {
	command := exec.Command("go", "list", "-f", `{{range .GoFiles}}{{.}} {{end}}`, "./"+name)
	command.Dir = root
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("go list ./%s: %w", name, withOutput(err))
	}
	var files []string
	for _, file := range strings.Fields(string(out)) {
		files = append(files, name+"/"+file)
	}
	return files, nil
}

// write lays the overlay down, without the mutants that are dropped, and returns
// its name.
func (m *schema) write(dropped map[int]bool) (string, error) {
	files := map[string][]byte{"stoamutant/switch.go": switchSource}
	byFile := map[string][]*site{}
	for _, s := range m.sites {
		if !dropped[s.id] {
			byFile[s.file] = append(byFile[s.file], s)
		}
	}
	for file, list := range byFile {
		source, err := os.ReadFile(filepath.Join(m.root, file))
		if err != nil {
			return "", err
		}
		mutated, err := apply(source, list)
		if err != nil {
			return "", err
		}
		files[file] = mutated
	}
	return writeOverlay(m.root, m.scratch, files)
}

// writeOverlay writes files, by their names in the tree at root, to a folder, and what has go
// build take them in the place of those there; it returns the name of that.
func writeOverlay(root, folder string, files map[string][]byte) (string, error) {
	replace := map[string]string{}
	for name, text := range files {
		at := filepath.Join(folder, strings.ReplaceAll(name, "/", "__"))
		replace[filepath.Join(root, name)] = at
		if err := os.WriteFile(at, text, 0o600); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(folder, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o600)
}

// apply returns the source with the mutants in it. Lines keep their numbers.
func apply(source []byte, list []*site) ([]byte, error) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, "", source, parser.PackageClauseOnly)
	if err != nil {
		return nil, err
	}
	type insertion struct {
		edit
		depth int // outer nodes open first and close last
		close bool
		from  int
	}
	var all []insertion
	clause := set.Position(parsed.Name.End()).Offset
	for i, s := range list {
		for k, e := range s.edits {
			text := strings.ReplaceAll(e.text, "%d", strconv.Itoa(s.id))
			all = append(all, insertion{edit{e.at, text}, i, k == 1, s.edits[0].at})
		}
	}
	slices.SortStableFunc(all, func(a, b insertion) int {
		if a.at != b.at {
			return a.at - b.at
		}
		if a.close != b.close { // what ends here closes before what begins here opens
			if a.close {
				return -1
			}
			return 1
		}
		if a.close { // the inner, which began later or was wrapped later, closes first
			if a.from != b.from {
				return b.from - a.from
			}
			return b.depth - a.depth
		}
		return a.depth - b.depth
	})
	var out bytes.Buffer
	out.Write(source[:clause])
	fmt.Fprintf(&out, "; import stoamutant %q", switchPath)
	last := clause
	for _, in := range all {
		out.Write(source[last:in.at])
		out.WriteString(in.text)
		last = in.at
	}
	out.Write(source[last:])
	return out.Bytes(), nil
}

var (
	compileError = regexp.MustCompile(`(?m)^(\S+\.go):(\d+):\d+: `)
)

// build compiles the tests of the packages with all mutants. Mutants that do not
// compile are dropped: all those of a line of which the compiler complains.
func (m *schema) build(packages []string) (map[string]string, error) {
	dropped := map[int]bool{}
	binaries := map[string]string{}
	for _, name := range packages {
		binaries[name] = filepath.Join(m.scratch, strings.ReplaceAll(name, "/", "_")+".test")
		for round := 0; ; round++ {
			overlay, err := m.write(dropped)
			if err != nil {
				return nil, err
			}
			command := exec.Command("go", "test", "-c", "-vet=off", "-gcflags=github.com/stoadb/stoa/...=-e", "-overlay", overlay, "-o", binaries[name], "./"+name)
			command.Dir = m.root
			out, err := command.CombinedOutput()
			if err == nil {
				break
			}
			before := len(dropped)
			m.drop(out, dropped)
			if len(dropped) == before || round == 20 {
				return nil, fmt.Errorf("building the tests of %s: %w\n%s", name, err, out)
			}
		}
	}
	m.sites = slices.DeleteFunc(m.sites, func(s *site) bool { return dropped[s.id] })
	fmt.Printf("%d mutants of %d do not compile\n", len(dropped), len(m.sites)+len(dropped))
	return binaries, nil
}

// drop notes the mutants on the lines that a compiler's output names.
func (m *schema) drop(out []byte, dropped map[int]bool) {
	for _, match := range compileError.FindAllSubmatch(out, -1) {
		line, _ := strconv.Atoi(string(match[2]))
		file := strings.TrimPrefix(string(match[1]), "./")
		for _, s := range m.sites {
			flat := strings.ReplaceAll(s.file, "/", "__")
			if s.line == line && (s.file == file || filepath.Base(file) == flat) {
				dropped[s.id] = true
			}
		}
	}
}

// withOutput adds what a command wrote on standard error to its error.
func withOutput(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(exit.Stderr))
	}
	return err
}
