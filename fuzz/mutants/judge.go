package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"text/tabwriter"
	"time"
)

// verdict is how the trial of one mutant ended.
type verdict int

const (
	killed   verdict = iota + 1 // a test failed
	timedOut                    // a test did not end, which kills too
	excused                     // it lives, and allow.txt says why it may
	lives
)

// judge surveys the tests and tries each mutant on those that reach it. It
// returns how many live that allow.txt does not have.
func judge(m *schema, binaries map[string]string, s settings, allowed map[string]string) (int, error) {
	byID := map[int]*site{}
	most := 0
	for _, site := range m.sites {
		byID[site.id], most = site, max(most, site.id)
	}
	first := newRunner(m, binaries, 0, most)
	for _, pkg := range slices.Sorted(maps.Keys(binaries)) {
		begun := time.Now()
		if err := first.survey(pkg, byID); err != nil {
			return 0, err
		}
		fmt.Printf("surveyed %s in %.0f s\n", pkg, time.Since(begun).Seconds())
	}
	var (
		mu       sync.Mutex
		failed   error
		counts   = tally{}
		waiting  = make(chan *site)
		together sync.WaitGroup
	)
	for job := range s.jobs {
		together.Go(func() {
			r := newRunner(m, binaries, job, most)
			for site := range waiting {
				t, err := r.try(site, s.budget)
				mu.Lock()
				if err != nil {
					failed = err
				} else {
					counts.add(site.pkg(), conclude(site, t, allowed[site.key()], s.verbose))
				}
				mu.Unlock()
			}
		})
	}
	for _, site := range m.sites {
		waiting <- site
	}
	close(waiting)
	together.Wait()
	counts.print()
	return counts.of(lives), failed
}

// conclude prints what is to be known of a trial and returns its verdict. reason
// is why the mutant is allowed to live, if it is.
func conclude(s *site, t trial, reason string, verbose bool) verdict {
	switch {
	case t.killer != "":
		v, how := killed, "killed"
		if t.timeout {
			v, how = timedOut, "timeout"
		}
		if reason != "" {
			fmt.Printf("%s, and yet in %s: %s\n\tby %s\n", how, allowName, s.key(), t.killer)
		} else if verbose || t.timeout {
			fmt.Printf("%s %s\tby %s\n", how, s, t.killer)
		}
		return v
	case reason != "":
		if verbose {
			fmt.Printf("allowed %s\t%s\n", s, reason)
		}
		return excused
	}
	fmt.Printf("LIVES %s\t%s\n", s, whatTried(s, t.spent))
	return lives
}

// whatTried says how a mutant that lives was looked for.
func whatTried(s *site, spent bool) string {
	switch {
	case len(s.tests) == 0:
		return "no test reaches it"
	case spent:
		return fmt.Sprintf("not noticed within the budget by the first of %d tests that reach it", len(s.tests))
	}
	return fmt.Sprintf("not noticed by the %d tests that reach it", len(s.tests))
}

// tally counts verdicts for each package.
type tally map[string]map[verdict]int

func (c tally) add(pkg string, v verdict) {
	if c[pkg] == nil {
		c[pkg] = map[verdict]int{}
	}
	c[pkg][v]++
}

// of is how many mutants of all packages had a verdict.
func (c tally) of(v verdict) int {
	sum := 0
	for _, counts := range c {
		sum += counts[v]
	}
	return sum
}

func (c tally) print() {
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(name string, of func(verdict) int) {
		fmt.Fprintf(out, "%s\t%d\t%d\t%d\t%d\t%d\t\n", name,
			of(killed)+of(timedOut)+of(excused)+of(lives), of(killed), of(timedOut), of(excused), of(lives))
	}
	fmt.Fprintln(out, "package\tmutants\tkilled\ttimeouts\tallowed\tlive\t")
	for _, pkg := range slices.Sorted(maps.Keys(c)) {
		row(pkg, func(v verdict) int { return c[pkg][v] })
	}
	row("all", c.of)
	out.Flush()
}
