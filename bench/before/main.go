// Command before measures what single improvements of the hot paths give. Each
// patch in its folder takes one of them out: before is built with it, after is the
// tree as it is, and both take turns, a run of `stoa bench` each.
//
// A patch begins with lines that say what it is about:
//
//	path: the hot path
//	without: what is taken out
//	measure: a workload and a subject, of which wall time is compared, or with -cpu the CPU; any number
//	rows: how many rows it takes to see it; -rows if it is not said
//
// Run it in the root of the module. It prints a table in Markdown.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stoadb/stoa/bench"
)

func main() {
	var o options
	flag.StringVar(&o.only, "only", "", "measure the patches whose names begin with `this`")
	flag.IntVar(&o.turns, "turns", 3, "how many runs each build has")
	flag.IntVar(&o.rows, "rows", 100_000, "how many rows there are")
	flag.DurationVar(&o.slice, "slice", time.Second, "how long a run measures each")
	flag.BoolVar(&o.cpu, "cpu", false, "compare the CPU of both ends, not wall time: for a machine that has other work")
	flag.Parse()
	if err := o.run(); err != nil {
		fmt.Fprintln(os.Stderr, "before:", err)
		os.Exit(1)
	}
}

type options struct {
	only        string
	turns, rows int
	slice       time.Duration
	cpu         bool // compare CPU, not wall time
}

// folder has the patches.
const folder = "bench/before"

func (o *options) run() error {
	if o.turns < 1 {
		return fmt.Errorf("-turns is %d, at least 1", o.turns)
	}
	paths, err := filepath.Glob(filepath.Join(folder, "*.patch"))
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "stoa-before")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	after := filepath.Join(work, "after")
	if err := command("", "go", "build", "-o", after, "./cmd/stoa"); err != nil {
		return err
	}
	tree := filepath.Join(work, "tree")
	if err := copyTree(tree); err != nil {
		return err
	}
	fmt.Print("| Hot path | Taken out | Workload, subject | Before µs | After µs | Before / after |\n|---|---|---|---|---|---|\n")
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".patch")
		if !strings.HasPrefix(name, o.only) {
			continue
		}
		p, err := readPatch(path)
		if err != nil {
			return err
		}
		if err := o.compare(p, tree, filepath.Join(work, "before"), after); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// copyTree copies what git knows of the module, and what is new, to dir.
func copyTree(dir string) error {
	listed, err := exec.Command("git", "ls-files", "-co", "--exclude-standard", "-z").Output()
	if err != nil {
		return fmt.Errorf("git ls-files: %w", err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(listed), "\x00"), "\x00") {
		content, err := os.ReadFile(name)
		if errors.Is(err, os.ErrNotExist) {
			continue // deleted, and not committed
		}
		if err != nil {
			return err
		}
		to := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(to, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// patch is what takes an improvement out.
type patch struct {
	file     string
	path     string
	without  string
	measures []measure
	rows     int // 0: any
}

type measure struct{ workload, subject string }

func readPatch(file string) (*patch, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	p := &patch{file: file}
	lines := bufio.NewScanner(bytes.NewReader(content))
	for lines.Scan() && lines.Text() != "" {
		field, value, _ := strings.Cut(lines.Text(), ": ")
		switch field {
		case "path":
			p.path = value
		case "without":
			p.without = value
		case "measure":
			workload, subject, _ := strings.Cut(value, " ")
			p.measures = append(p.measures, measure{workload, subject})
		case "rows":
			if p.rows, err = strconv.Atoi(value); err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
		default:
			return nil, fmt.Errorf("%s: a line %q", file, lines.Text())
		}
	}
	if p.path == "" || p.without == "" || len(p.measures) == 0 {
		return nil, fmt.Errorf("%s: path, without or measure is missing", file)
	}
	return p, nil
}

// compare builds a tree with a patch, lets both builds take turns, and prints.
func (o *options) compare(p *patch, tree, before, after string) error {
	file, err := filepath.Abs(p.file)
	if err != nil {
		return err
	}
	if err := command(tree, "git", "apply", file); err != nil {
		return err
	}
	if err := command(tree, "go", "build", "-o", before, "./cmd/stoa"); err != nil {
		return err
	}
	if err := command(tree, "git", "apply", "-R", file); err != nil {
		return err
	}
	builds := [2]string{before, after}
	took := [2]map[measure][]float64{{}, {}}
	for turn := range o.turns {
		for i := range builds {
			i ^= turn & 1 // who comes first changes
			if err := o.bench(builds[i], p, took[i]); err != nil {
				return err
			}
		}
	}
	for _, m := range p.measures {
		was, is := median(took[0][m]), median(took[1][m])
		fmt.Printf("| %s | %s | %s, %s | %.3g | %.3g | %.2f |\n", p.path, p.without, m.workload, m.subject, was/1e3, is/1e3, was/is)
	}
	return nil
}

// bench runs a build once, and adds the times of what is measured.
func (o *options) bench(stoa string, p *patch, took map[measure][]float64) error {
	var workloads, subjects []string
	for _, m := range p.measures {
		workloads = append(workloads, m.workload)
		if m.subject == "rpc" { // of the workloads on the rows; others have their own
			subjects = []string{m.subject}
		}
	}
	cmd := exec.Command(stoa, "bench", "--json", "--rounds", "1", "--rows", fmt.Sprint(cmp.Or(p.rows, o.rows)), "--slice", o.slice.String(),
		"--workload", strings.Join(workloads, ","), "--subject", strings.Join(subjects, ","))
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, &said)
	}
	var report bench.Report
	if err := json.Unmarshal(out, &report); err != nil {
		return fmt.Errorf("%s: %w", cmd, err)
	}
	for _, result := range report.Results {
		for _, found := range result.Measures {
			m := measure{result.Workload, found.Subject}
			if o.cpu {
				took[m] = append(took[m], found.CPU.Median)
			} else {
				took[m] = append(took[m], found.Wall.Median)
			}
		}
	}
	for _, m := range p.measures {
		if len(took[m]) == 0 {
			return fmt.Errorf("%s: nothing is measured of %s, %s", cmd, m.workload, m.subject)
		}
	}
	return nil
}

func median(values []float64) float64 {
	values = slices.Sorted(slices.Values(values))
	return values[len(values)/2]
}

// command runs what prints only if it fails.
func command(dir, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return nil
}
