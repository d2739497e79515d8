package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// rulesFolder has the rules. A patch begins with lines that say what it is about:
//
//	rule: what is switched off
//	test: the package and the test that is to find it
const rulesFolder = "fuzz/mutants/rules"

// rule is a rule of the code, and the patch that switches it off.
type rule struct {
	name      string
	patch     string
	file      string // that it changes, from the root of the tree
	pkg, test string
}

func readRules(root string) (rules []rule, err error) {
	paths, err := filepath.Glob(filepath.Join(root, rulesFolder, "*.patch"))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		r := rule{patch: path}
		for line := range strings.Lines(string(text)) {
			switch field, value, _ := strings.Cut(strings.TrimSpace(line), " "); field {
			case "rule:":
				r.name = value
			case "test:":
				r.pkg, r.test, _ = strings.Cut(value, " ")
			case "+++":
				r.file = strings.TrimPrefix(value, "b/")
			}
		}
		if r.name == "" || r.test == "" || r.file == "" {
			return nil, fmt.Errorf("%s: rule, test or a change is missing", path)
		}
		rules = append(rules, r)
	}
	return rules, nil
}

// without returns the code of a rule's file with the rule switched off.
func (r *rule) without(root, scratch string) ([]byte, error) {
	code, err := os.ReadFile(filepath.Join(root, r.file))
	if err != nil {
		return nil, err
	}
	at := filepath.Join(scratch, r.file)
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(at, code, 0o600); err != nil {
		return nil, err
	}
	apply := exec.Command("git", "apply", r.patch)
	apply.Dir, apply.Env = scratch, append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(scratch))
	if _, err := apply.Output(); err != nil {
		return nil, fmt.Errorf("rule %s: %s is of code that has changed since: %w", r.name, r.patch, withOutput(err))
	}
	return os.ReadFile(at)
}

// draws is how often a test of a rule draws, in what enginetest.Check has it draw otherwise: a
// thousand histories of those who draw 60.
const draws = "17"

// drawn is what rapid says of a history that fails, or the simulation of a network; rapid does not say
// after how many where the same one does not fail again, as without a rule it may not: maps have no
// order.
var drawn = regexp.MustCompile(`(?:\[rapid\] (?:failed|panic)|failed) after (\d+) (?:tests|histories)|\[rapid\] flaky test`)

// tryRules switches one rule off at a time, and returns how many the tests do not find.
func tryRules(root string, seed uint64) (survivors int, err error) {
	rules, err := readRules(root)
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
			fmt.Printf("found in %s, after %s histories: %s\n", took, cmp.Or(string(after[1]), "some"), r.name)
		}
	}
	return survivors, nil
}

// try runs the test of a rule with the rule switched off, and returns what it wrote.
func (r *rule) try(root, scratch string, seed uint64) ([]byte, error) {
	code, err := r.without(root, scratch)
	if err != nil {
		return nil, err
	}
	overlay, err := writeOverlay(root, scratch, map[string][]byte{r.file: code})
	if err != nil {
		return nil, err
	}
	command := exec.Command("go", "test", "-overlay", overlay, "-vet=off", "-count=1", "-timeout=1h", "-run", "^"+r.test+"$", "./"+r.pkg, "-rapid.nofailfile", "-rapid.shrinktime=0")
	command.Dir, command.Env = root, append(os.Environ(), "STOA_TEST_SCALE="+draws, fmt.Sprint("RAPID_SEED=", seed))
	return command.CombinedOutput()
}
