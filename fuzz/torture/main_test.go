package torture

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/stoadb/stoa/engine/enginetest"
)

// What `make torture` sets by ARGS.
var (
	killFlag  = flag.Int("kills", 0, "how often the daemon is killed; 0: a few times")
	cutFlag   = flag.Int("cuts", 0, "how often the power of its machine goes off; 0: a few times")
	everyFlag = flag.Int("every", 0, "of how many file calls of each task one fails, with each defect of a disk; 0: two calls of one task")
	faultFlag = flag.String("fault", "", "the file call that fails, as TASK/DEFECT/CALL")
	fullFlag  = flag.Int("full", 0, "how often the disk of the daemon is full, and grows; 0: twice")
	tightFlag = flag.Int("tight", 0, "how often the daemon has to do with little memory; 0: twice")
	hoursFlag = flag.Int("hours", 0, "how many hours of a simulated clock are served; 0: one, with less to do")
	partsFlag = flag.Int("parts", 0, "how often a part of a cluster of TiKV is killed, a daemon included; 0: there is no cluster")
	preyFlag  = flag.String("prey", "leaders,followers,stores,PD", "what parts of a cluster are killed")
	idleFlag  = flag.Int("idle", 1000, "how many clients connect and say nothing")
)

// seedEnv is the number that all choices follow from; a random one if it is not
// set.
const seedEnv = "STOA_TORTURE_SEED"

// errNoRocks is why there is nothing to kill.
var errNoRocks = errors.New("built without cgo, and so without RocksDB: an engine in memory keeps nothing across a kill")

// scratch is where the program is built.
var scratch string

func TestMain(m *testing.M) {
	if os.Getenv(launchEnv) != "" {
		fmt.Fprintln(os.Stderr, launch(os.Args[1:]))
		os.Exit(1)
	}
	if name := os.Getenv(defectEnv); name != "" {
		os.Exit(serveWithDefect(name, os.Args))
	}
	if path := os.Getenv(clockEnv); path != "" {
		os.Exit(serveSimulated(path, os.Args))
	}
	var err error
	if scratch, err = os.MkdirTemp("", "st"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(scratch) // a directory for temporary files
	os.Exit(code)
}

// stoaBinary builds the program once, and returns its path.
var stoaBinary = sync.OnceValues(func() (string, error) {
	if !hasRocks {
		return "", errNoRocks
	}
	path := filepath.Join(scratch, "stoa")
	out, err := exec.Command("go", "build", "-o", path, "github.com/stoadb/stoa/cmd/stoa").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build ./cmd/stoa: %w: %s", err, out)
	}
	return path, nil
})

// seedOf returns the seed of a test, which follows from RAPID_SEED unless it is given, and
// says what it is.
func seedOf(t testing.TB) uint64 {
	t.Helper()
	seed := rand.NewPCG(enginetest.Seed(), 0).Uint64()
	if s := os.Getenv(seedEnv); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatalf("%s=%s is not a number: %v", seedEnv, s, err)
		}
	}
	t.Logf("seed: %s=%d make torture ARGS='-kills %d -cuts %d -every %d -full %d -tight %d -hours %d -idle %d'",
		seedEnv, seed, *killFlag, *cutFlag, *everyFlag, *fullFlag, *tightFlag, *hoursFlag, *idleFlag)
	return seed
}
