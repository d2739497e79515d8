package main

import (
	"bufio"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
)

// readAllowed reads allow.txt: blocks of a line with a mutant's key and, below it
// and indented, why it is equivalent. Lines that begin with # are remarks.
func readAllowed(name string) (map[string]string, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	allowed := map[string]string{}
	var key string
	lines := bufio.NewScanner(file)
	for number := 1; lines.Scan(); number++ {
		line := lines.Text()
		switch {
		case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#"):
		case !strings.HasPrefix(line, "\t"):
			if key != "" && allowed[key] == "" {
				return nil, fmt.Errorf("%s: nothing says why %q is allowed", name, key)
			}
			key = line
			allowed[key] = ""
		case key == "":
			return nil, fmt.Errorf("%s:%d: a reason without a mutant above it", name, number)
		default:
			allowed[key] = strings.TrimSpace(allowed[key] + " " + strings.TrimSpace(line))
		}
	}
	if key != "" && allowed[key] == "" {
		return nil, fmt.Errorf("%s: nothing says why %q is allowed", name, key)
	}
	return allowed, lines.Err()
}

// stale lists what is allowed of these packages and is no mutant of theirs: code
// that was changed since, or a slip of the pen.
func stale(allowed map[string]string, all []*site, packages []string) []string {
	known := map[string]bool{}
	for _, m := range all {
		known[m.key()] = true
	}
	var gone []string
	for key := range allowed {
		file, _, _ := strings.Cut(key, ":")
		if !known[key] && slices.Contains(packages, path.Dir(file)) {
			gone = append(gone, key)
		}
	}
	slices.Sort(gone)
	return gone
}
