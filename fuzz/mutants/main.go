package main

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
)

// testedBy is which packages are mutated, and whose tests are to notice: their
// own, and those of packages that stand on them where these say more.
var testedBy = map[string][]string{
	"codec":                 {"codec", "keys"},
	"keys":                  {"keys", "engine"},
	"engine":                {"engine", "engine/mem", "kv"},
	"engine/rocks":          {"engine/rocks"},
	"engine/rocks/diskfile": {"engine/rocks/diskfile", "engine/rocks", "cmd/inspect"},
	"engine/seal":           {"engine/seal", "cmd/stoa"},
	"group":                 {"group", "namespace"},
	"namespace":             {"namespace"},
	"dag":                   {"dag"},
	"kv":                    {"kv", "kv/kvstorage"},
	"kv/kvstorage":          {"kv/kvstorage"},
	"rpc/server":            {"rpc/server"},
	"cmd/inspect":           {"cmd/inspect", "cmd/stoa"},
}

const allowName = "fuzz/mutants/allow.txt"

// settings are the flags.
type settings struct {
	packages []string
	only     string
	count    int
	seed     uint64
	budget   time.Duration
	jobs     int
	errors   bool
	list     bool
}

func main() {
	var s settings
	packages := flag.String("packages", strings.Join(slices.Sorted(maps.Keys(testedBy)), ","), "the packages to mutate")
	flag.StringVar(&s.only, "only", "", "only mutants whose key (see -list) holds this text")
	flag.IntVar(&s.count, "n", 400, "how many mutants to try, chosen by -seed; 0 is all")
	flag.Uint64Var(&s.seed, "seed", 1, "the seed of the choice")
	flag.DurationVar(&s.budget, "budget", 3*time.Minute, "how long to look for a test that fails, for each mutant")
	flag.IntVar(&s.jobs, "jobs", 2, "mutants that are tried at a time")
	flag.BoolVar(&s.errors, "errors", false, "errors that are ignored are mutants too")
	flag.BoolVar(&s.list, "list", false, "only list the chosen mutants")
	flag.Parse()
	s.packages = strings.Split(*packages, ",")
	survivors, err := run(s)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(2)
	}
	if survivors > 0 {
		os.Exit(1)
	}
}

// run tries mutants and returns how many live that allow.txt does not have.
func run(s settings) (survivors int, err error) {
	out, err := exec.Command("git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		return 0, fmt.Errorf("looking for the root of the tree: %w", withOutput(err))
	}
	root := strings.TrimSpace(string(out))
	allowed, err := readAllowed(root + "/" + allowName)
	if err != nil {
		return 0, err
	}
	for _, name := range s.packages {
		if testedBy[name] == nil {
			return 0, fmt.Errorf("%q is not a package that is mutated; these are: %s", name, strings.Join(slices.Sorted(maps.Keys(testedBy)), ", "))
		}
	}
	all, err := findSites(root, s.packages)
	if err != nil {
		return 0, err
	}
	chosen := choose(all, s)
	fmt.Printf("%d mutants of %d, seed %d\n", len(chosen), len(all), s.seed)
	if s.list {
		for _, m := range chosen {
			fmt.Println(m.key())
		}
		return 0, nil
	}
	scratch, err := os.MkdirTemp("", "stoa-mutants")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(scratch)
	m := &schema{root, scratch, chosen}
	binaries, err := m.build(testPackages(s.packages))
	if err != nil {
		return 0, err
	}
	return judge(m, binaries, s, allowed)
}

// choose draws the mutants to try, in the order of their places.
func choose(all []*site, s settings) []*site {
	if !s.errors {
		all = slices.DeleteFunc(all, func(m *site) bool { return m.operator == ignored })
	}
	if s.only != "" {
		all = slices.DeleteFunc(all, func(m *site) bool { return !strings.Contains(m.key(), s.only) })
	}
	if s.count == 0 || len(all) <= s.count {
		return all
	}
	random := rand.New(rand.NewPCG(s.seed, 0))
	random.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
	all = all[:s.count]
	slices.SortFunc(all, func(a, b *site) int { return a.id - b.id })
	return all
}

// testPackages are the packages whose tests are to notice mutants of these.
func testPackages(packages []string) []string {
	set := map[string]bool{}
	for _, name := range packages {
		for _, tests := range testedBy[name] {
			set[tests] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// judge surveys the tests and tries each mutant on those that reach it.
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
		killed   int
		lived    int
		excused  int
		failed   error
		waiting  = make(chan *site)
		together sync.WaitGroup
	)
	for job := range s.jobs {
		together.Go(func() {
			r := newRunner(m, binaries, job, most)
			for site := range waiting {
				killer, spent, err := r.try(site, s.budget)
				mu.Lock()
				switch reason := allowed[site.key()]; {
				case err != nil:
					failed = err
				case killer != "":
					killed++
					if reason != "" {
						fmt.Printf("killed, and yet in %s: %s\n\tby %s\n", allowName, site.key(), killer)
					}
				case reason != "":
					excused++
				default:
					lived++
					fmt.Printf("LIVES %s:%d: %s\n\t%s\n", site.file, site.line, site.key(), whatTried(site, spent))
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
	fmt.Printf("%d mutants: %d killed, %d allowed by %s, %d live\n", len(m.sites), killed, excused, allowName, lived)
	return lived, failed
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
