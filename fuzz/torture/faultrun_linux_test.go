package torture

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stoadb/stoa/engine/enginetest"
)

// A file call of the daemon fails, whichever: it goes on, or refuses writes, or ends
// and says why; and on a disk that is mended everything acknowledged is there.
func TestAFaultAtAnyFileCallLosesNothing(t *testing.T) {
	enginetest.SkipUnderRace(t, elsewhere)
	p, seed := realDaemon(t), seedOf(t)
	root := shortRoot(t)
	begun, err := emptyStore(p, filepath.Join(root, "begun"))
	if err != nil {
		t.Fatal(err)
	}
	met := map[string]int{}
	try := func(task task, d defectOfDisk, at int) *trial {
		tr := &trial{
			task: task, meter: &meter{defect: d, at: at}, program: p, seed: seed, begun: begun,
			dir: filepath.Join(root, "t", "db"), cut: at%4 > 1,
		}
		err := tr.run()
		if errors.Is(err, errNoSupervisor) {
			t.Skip("SKIPPED: no call was made to fail:", err)
		}
		if err != nil {
			t.Errorf("%s=%d, %s: %v", seedEnv, seed, tr, err)
		}
		met[fmt.Sprintf("%6s: %s", d, tr.outcome)]++
		return tr
	}
	trials := 0
	all := tasks()
	for i, task := range all {
		if *faultFlag != "" && !strings.HasPrefix(*faultFlag+"/", task.name+"/") {
			continue
		}
		if *faultFlag == "" && *everyFlag == 0 && i != int(seed%uint64(len(all))) {
			continue
		}
		calls := try(task, "none", -1).meter.calls
		if calls == 0 {
			t.Fatalf("%s: the daemon made no file call", task.name)
		}
		t.Logf("%s: %d calls that change files", task.name, calls)
		for k, d := range defectsOfDisk {
			for _, at := range indices(task.name, d, calls, seed>>8+uint64(k)) {
				try(task, d, at)
				if trials++; t.Failed() {
					t.FailNow()
				}
			}
		}
	}
	for _, what := range slices.Sorted(maps.Keys(met)) {
		t.Logf("%6d trials: %s", met[what], what)
	}
	if trials == 0 {
		t.Fatalf("-fault %s names no trial: it is TASK/DEFECT/CALL, or the first of these", *faultFlag)
	}
}

// indices returns the calls of a task that fail: the one that -fault names, all that
// -every wants, or two.
func indices(task string, d defectOfDisk, calls int, seed uint64) (list []int) {
	if parts := strings.Split(*faultFlag, "/"); len(parts) > 1 && parts[1] != string(d) {
		return nil
	} else if len(parts) > 2 {
		n, err := strconv.Atoi(parts[2])
		if err != nil {
			return nil
		}
		return []int{n}
	}
	if *everyFlag == 0 {
		return []int{int(seed % uint64(calls)), int(seed / 97 % uint64(calls))}
	}
	for n := int(seed % uint64(*everyFlag)); n < calls; n += *everyFlag {
		list = append(list, n)
	}
	return list
}

// emptyStore has the daemon make a store, and returns its directory.
func emptyStore(p program, dir string) (string, error) {
	d, err := p.serve(dir)
	if err != nil {
		return "", err
	}
	defer d.kill() // it is dead, or something is wrong
	c, err := d.dial(0)
	if err != nil {
		return "", err
	}
	if err := errors.Join(c.Close(), d.stop()); err != nil {
		return "", err
	}
	// A copy would not keep the modes of these.
	return dir, errors.Join(os.RemoveAll(filepath.Join(dir, "stoa.sock")), os.RemoveAll(filepath.Join(dir, "stoa.spool")))
}
