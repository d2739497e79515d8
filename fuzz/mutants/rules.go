package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

const rulesName = "fuzz/mutants/rules.txt"

// rule is a rule of the code, and the change that switches it off.
type rule struct {
	name      string
	file      string // from the root of the tree
	pkg, test string // what is to find that it is off
	old, off  string // the text of the rule, and of the code without it
}

// readRules reads a file of rules.
func readRules(path string) ([]rule, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var rules []rule
	for _, part := range strings.Split(strings.TrimSpace(string(text)), "\n\n") {
		lines := slices.DeleteFunc(strings.Split(part, "\n"), func(line string) bool { return strings.HasPrefix(line, "#") })
		if len(lines) == 0 {
			continue
		}
		if len(lines) < 4 {
			return nil, fmt.Errorf("%s: a rule is its name, its file, the test that finds it, and a change: %q", path, part)
		}
		r := rule{name: lines[0], file: lines[1]}
		r.pkg, r.test, _ = strings.Cut(lines[2], " ")
		for _, line := range lines[3:] {
			if line[0] != '+' {
				r.old += line[1:] + "\n"
			}
			if line[0] != '-' {
				r.off += line[1:] + "\n"
			}
		}
		rules = append(rules, r)
	}
	return rules, nil
}

// without returns the code of a rule's file with the rule switched off.
func (r *rule) without(root string) (string, error) {
	code, err := os.ReadFile(filepath.Join(root, r.file))
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(code), r.old); n != 1 {
		return "", fmt.Errorf("rule %s: its text is %d times in %s, and should be there once; mend %s", r.name, n, r.file, rulesName)
	}
	return strings.Replace(string(code), r.old, r.off, 1), nil
}

// draws is how often a test of a rule draws, in what enginetest.Check has it draw otherwise: a
// thousand histories of those who draw 60.
const draws = "17"

var drawn = regexp.MustCompile(`\[rapid\] (?:failed|panic) after (\d+) tests`)

// tryRules switches one rule off at a time, and returns how many the tests do not find.
func tryRules(root string, seed uint64) (survivors int, err error) {
	rules, err := readRules(filepath.Join(root, rulesName))
	if err != nil {
		return 0, err
	}
	scratch, err := os.MkdirTemp("", "stoa-rules")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(scratch)
	for _, r := range rules {
		begun := time.Now()
		out, err := r.try(root, scratch, seed)
		took := time.Since(begun).Round(time.Second)
		var failed *exec.ExitError
		switch after := drawn.FindSubmatch(out); {
		case err == nil:
			fmt.Printf("NOT FOUND, in %s: %s\n", took, r.name)
			survivors++
		case !errors.As(err, &failed):
			return survivors, err
		case after == nil:
			return survivors, fmt.Errorf("rule %s: its test does not run\n%s", r.name, tail(out))
		default:
			fmt.Printf("found in %s, after %s histories: %s\n", took, after[1], r.name)
		}
	}
	return survivors, nil
}

// try runs the test of a rule with the rule switched off, and returns what it wrote.
func (r *rule) try(root, scratch string, seed uint64) ([]byte, error) {
	code, err := r.without(root)
	if err != nil {
		return nil, err
	}
	changed, overlay := filepath.Join(scratch, "changed.go"), filepath.Join(scratch, "overlay.json")
	if err := os.WriteFile(changed, []byte(code), 0o600); err != nil {
		return nil, err
	}
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(root, r.file): changed}})
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(overlay, replace, 0o600); err != nil {
		return nil, err
	}
	command := exec.Command("go", "test", "-overlay", overlay, "-vet=off", "-count=1", "-timeout=1h", "-run", "^"+r.test+"$", "./"+r.pkg, "-rapid.nofailfile")
	command.Dir, command.Env = root, append(os.Environ(), "STOA_TEST_SCALE="+draws, fmt.Sprint("RAPID_SEED=", seed))
	return command.CombinedOutput()
}
