package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// testedBy is which packages are mutated, and whose tests are to notice: their
// own, and those of packages that stand on them where these say more.
var testedBy = map[string][]string{
	"codec":                      {"codec", "keys"},
	"keys":                       {"keys", "engine"},
	"engine":                     {"engine", "engine/mem", "kv"},
	"engine/rocks":               {"engine/rocks"},
	"engine/rocks/diskfile":      {"engine/rocks/diskfile", "engine/rocks", "cmd/inspect"},
	"engine/seal":                {"engine/seal", "cmd/stoa"},
	"blob":                       {"blob"},
	"group":                      {"group", "namespace"},
	"namespace":                  {"namespace"},
	"dag":                        {"dag"},
	"dag/hlc":                    {"dag/hlc", "dag"},
	"dag/merkle":                 {"dag/merkle", "dag"},
	"codec/cutter":               {"codec/cutter", "dag/merkle", "dag"},
	"kv":                         {"kv", "kv/kvstorage"},
	"kv/document":                {"kv/document", "kv/kvstorage", "kv/record"},
	"kv/jsonschema":              {"kv/jsonschema", "kv/record"},
	"kv/bucket/contract":         {"kv/bucket/contract"},
	"kv/bucket/subject":          {"kv/bucket/subject"},
	"kv/kvstorage":               {"kv/kvstorage"},
	"kv/record":                  {"kv/record"},
	"kv/policy":                  {"kv/policy"},
	"kv/policy/condition":        {"kv/policy/condition", "kv/policy"},
	"kv/stream":                  {"kv/stream"},
	"rpc/server":                 {"rpc/server"},
	"rpc/server/socket":          {"rpc/server/socket"},
	"rpc/server/internal/demux":  {"rpc/server/internal/demux", "rpc/server"},
	"rpc/server/internal/framed": {"rpc/server/internal/framed", "rpc/server"},
	"rpc/server/internal/limit":  {"rpc/server/internal/limit", "rpc/server"},
	"cmd/inspect":                {"cmd/inspect", "cmd/stoa"},
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
	rules    bool
	verbose  bool
}

func main() {
	var s settings
	packages := flag.String("packages", strings.Join(slices.Sorted(maps.Keys(testedBy)), ","), "the packages to mutate")
	flag.StringVar(&s.only, "only", "", "only mutants whose key (see -list) holds this text")
	flag.IntVar(&s.count, "n", 400, "how many mutants to try, chosen by -seed, some of each package; 0 is all")
	flag.Uint64Var(&s.seed, "seed", 1, "the seed of the choice, and of what tests of rules draw")
	flag.DurationVar(&s.budget, "budget", 3*time.Minute, "how long to look for a test that fails, for each mutant")
	flag.IntVar(&s.jobs, "jobs", 2, "mutants that are tried at a time")
	flag.BoolVar(&s.errors, "errors", false, "errors that are ignored are mutants too")
	flag.BoolVar(&s.list, "list", false, "only list the chosen mutants")
	flag.BoolVar(&s.rules, "rules", false, "instead: switch off the rules of "+rulesFolder+", one at a time")
	flag.BoolVar(&s.verbose, "v", false, "print killed and allowed mutants too, with the test that kills or the reason")
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
	if s.rules {
		return tryRules(root, s.seed)
	}
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
	for _, key := range stale(allowed, all, s.packages) {
		fmt.Printf("no such mutant, and yet in %s: %s\n", allowName, key)
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
