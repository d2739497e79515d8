package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// test is a test function of a package that passes as it is.
type test struct {
	pkg, name string
	took      time.Duration
}

// runner runs tests with at most one mutant on. Each runner has a file of its
// own, so that several may run beside each other.
type runner struct {
	root     string
	binaries map[string]string
	shared   string // the file that switches mutants on and tells which are reached
	size     int    // of it
}

// newRunner makes a runner for mutants with numbers up to most.
func newRunner(m *schema, binaries map[string]string, number, most int) *runner {
	return &runner{m.root, binaries, filepath.Join(m.scratch, fmt.Sprintf("shared.%d", number)), 4 + most}
}

// set switches one mutant on, or none for 0, and forgets what was reached.
func (r *runner) set(id int) error {
	content := make([]byte, r.size)
	binary.LittleEndian.PutUint32(content, uint32(id))
	// A process of an earlier run may still have the old file in memory.
	if err := os.Remove(r.shared); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.WriteFile(r.shared, content, 0o600)
}

// reached lists the numbers of the mutants that were reached since set.
func (r *runner) reached() ([]int, error) {
	content, err := os.ReadFile(r.shared)
	if err != nil {
		return nil, err
	}
	var ids []int
	for i, b := range content[4:] {
		if b != 0 {
			ids = append(ids, i+1)
		}
	}
	return ids, nil
}

// outcome is how a run of tests ended.
type outcome struct {
	passed  bool
	timeout bool   // it was killed at the limit
	text    []byte // what the tests wrote
}

// run runs tests of one package, for at most the limit.
func (r *runner) run(pkg string, names []string, limit time.Duration) outcome {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	command := exec.CommandContext(ctx, r.binaries[pkg], "-test.failfast", "-test.run", "^("+strings.Join(names, "|")+")$")
	command.Dir = filepath.Join(r.root, pkg)
	command.Env = append(os.Environ(), "STOA_MUTANTS="+r.shared)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	command.WaitDelay = 5 * time.Second
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	err := command.Run()
	_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL) // children that the tests left
	return outcome{err == nil, ctx.Err() != nil, out.Bytes()}
}

// list returns the names of the tests of a package.
func (r *runner) list(pkg string) ([]string, error) {
	command := exec.Command(r.binaries[pkg], "-test.list", "^Test")
	command.Dir = filepath.Join(r.root, pkg)
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("the tests of %s: %w", pkg, withOutput(err))
	}
	return strings.Fields(string(out)), nil
}

// survey runs each test of a package once, with every mutant off, and notes
// which mutants it reaches.
func (r *runner) survey(pkg string, byID map[int]*site) error {
	names, err := r.list(pkg)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := r.set(0); err != nil {
			return err
		}
		begun := time.Now()
		if o := r.run(pkg, []string{name}, 20*time.Minute); !o.passed {
			fmt.Printf("left out: %s of %s fails with no mutant on\n%s\n", name, pkg, tail(o.text))
			continue
		}
		t := &test{pkg, name, time.Since(begun)}
		ids, err := r.reached()
		if err != nil {
			return err
		}
		for _, id := range ids {
			if s := byID[id]; s != nil {
				s.tests = append(s.tests, t)
			}
		}
	}
	return nil
}

// trial is what came of the tests that a mutant was tried on.
type trial struct {
	killer  string // a test that failed or did not end, or "" if the mutant lives
	timeout bool   // it did not end
	spent   bool   // the budget ended the trial before all tests had run
}

// try switches a mutant on and runs the tests that reach it, the quick ones
// first, until one fails or the budget is spent.
func (r *runner) try(s *site, budget time.Duration) (trial, error) {
	if err := r.set(s.id); err != nil {
		return trial{}, err
	}
	slices.SortStableFunc(s.tests, func(a, b *test) int { return cmp.Compare(a.took, b.took) })
	begun := time.Now()
	for at := 0; at < len(s.tests); {
		if time.Since(begun) > budget {
			return trial{spent: true}, nil
		}
		pkg, expected := s.tests[at].pkg, time.Duration(0)
		var names []string
		for at < len(s.tests) && s.tests[at].pkg == pkg && len(names) < 20 && (expected == 0 || expected < 5*time.Second) {
			names = append(names, s.tests[at].name)
			expected += s.tests[at].took
			at++
		}
		switch o := r.run(pkg, names, time.Minute+10*expected); {
		case o.timeout:
			return trial{killer: "no end of " + strings.Join(names, ", "), timeout: true}, nil
		case !o.passed:
			return trial{killer: failing(o.text, names)}, nil
		}
	}
	return trial{}, nil
}

// failing is the name of the test that failed, by the output of a run.
func failing(out []byte, names []string) string {
	for line := range strings.Lines(string(out)) {
		if rest, ok := strings.CutPrefix(line, "--- FAIL: "); ok {
			return strings.Fields(rest)[0]
		}
	}
	return "the process, in " + strings.Join(names[:1], "")
}

// tail is the end of an output.
func tail(out []byte) []byte {
	if len(out) > 2000 {
		out = out[len(out)-2000:]
	}
	return out
}
