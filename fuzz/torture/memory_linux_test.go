package torture

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/stoadb/stoa/engine/enginetest"
)

// errNoGroup is why the memory of a process cannot be limited.
var errNoGroup = errors.New("no cgroup can be made that limits memory")

// limits is a cgroup that limits the memory of those in it.
type limits struct {
	dir   string
	files *limitFiles
}

// limitFiles is how a version of cgroups names what is used here.
type limitFiles struct {
	limit, swap, kills string
	noSwap             func(limit int) string // what swap is set to so that there is none
	most               string
}

var (
	version1 = &limitFiles{
		"memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "memory.oom_control", strconv.Itoa, "memory.max_usage_in_bytes",
	}
	version2 = &limitFiles{
		"memory.max", "memory.swap.max", "memory.events", func(int) string { return "0" }, "memory.peak",
	}
)

// ownGroups returns the cgroup that this process is in for its memory. In version 2 a
// group with processes in it, but for the root, has none below that limit memory: there
// it returns the one above, too.
func ownGroups() (dirs []string, files *limitFiles, err error) {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, nil, err
	}
	kind, path := "cgroup2", ""
	for line := range strings.Lines(string(text)) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(f) < 3:
		case slices.Contains(strings.Split(f[1], ","), "memory"):
			kind, path = "cgroup", f[2]
		case f[1] == "" && kind == "cgroup2":
			path = f[2]
		}
	}
	if text, err = os.ReadFile("/proc/self/mountinfo"); err != nil {
		return nil, nil, err
	}
	for line := range strings.Lines(string(text)) {
		mount, of, found := strings.Cut(strings.TrimSpace(line), " - ")
		m, o := strings.Fields(mount), strings.Fields(of)
		if !found || len(m) < 5 || len(o) < 3 || o[0] != kind || kind == "cgroup" && !slices.Contains(strings.Split(o[2], ","), "memory") {
			continue
		}
		below, err := filepath.Rel(m[3], path)
		if err != nil || strings.HasPrefix(below, "..") {
			below = "." // of another namespace
		}
		own := filepath.Join(m[4], below)
		if kind == "cgroup" {
			return []string{own}, version1, nil
		}
		if own == m[4] {
			return []string{own}, version2, nil
		}
		return []string{own, filepath.Dir(own)}, version2, nil
	}
	return nil, nil, fmt.Errorf("no %s is mounted that has memory", kind)
}

var groupsMade atomic.Int64

// limitTo makes a cgroup whose processes have so many bytes of memory, and no swap.
func limitTo(most int) (*limits, error) {
	dirs, files, err := ownGroups()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoGroup, err)
	}
	for _, dir := range dirs {
		if files == version2 {
			on, rerr := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
			if rerr != nil || !slices.Contains(strings.Fields(string(on)), "memory") {
				err = errors.Join(err, rerr, fmt.Errorf("%s does not limit memory of groups in it", dir))
				continue
			}
		}
		l := &limits{filepath.Join(dir, fmt.Sprintf("stoa-torture-%d-%d", os.Getpid(), groupsMade.Add(1))), files}
		if merr := os.Mkdir(l.dir, 0o755); merr != nil {
			err = errors.Join(err, merr)
			continue
		}
		if werr := os.WriteFile(filepath.Join(l.dir, files.limit), []byte(strconv.Itoa(most)), 0); werr != nil {
			err = errors.Join(err, werr, os.Remove(l.dir))
			continue
		}
		probe := exec.Command("true")
		if perr := l.start(probe); perr != nil || probe.Wait() != nil {
			err = errors.Join(err, perr, fmt.Errorf("no process may be started in %s", l.dir), l.remove())
			continue
		}
		_ = os.WriteFile(filepath.Join(l.dir, files.swap), []byte(files.noSwap(most)), 0) // where swap is not limited there is none to limit
		return l, nil
	}
	return nil, fmt.Errorf("%w: %w", errNoGroup, err)
}

// start starts a command in the group, from its first page on.
func (l *limits) start(cmd *exec.Cmd) error {
	inside := enginetest.EndWithParent(exec.Command("/bin/sh", append([]string{"-c", `echo $$ >"$0/cgroup.procs" && exec "$@"`, l.dir}, cmd.Args...)...))
	inside.Env, inside.Stdout, inside.Stderr = cmd.Env, cmd.Stdout, cmd.Stderr
	*cmd = *inside
	return cmd.Start()
}

// kills returns how many processes of the group the kernel has killed because of its
// limit.
func (l *limits) kills() (int, error) {
	text, err := os.ReadFile(filepath.Join(l.dir, l.files.kills))
	for line := range bytes.Lines(text) {
		if f := bytes.Fields(line); len(f) == 2 && string(f[0]) == "oom_kill" {
			return strconv.Atoi(string(f[1]))
		}
	}
	return 0, errors.Join(err, fmt.Errorf("%s does not say how many were killed", l.dir))
}

// remove removes the group, whose processes have ended.
func (l *limits) remove() (err error) {
	for range 100 {
		if err = os.Remove(l.dir); err == nil || os.IsNotExist(err) {
			return nil
		}
		time.Sleep(20 * time.Millisecond) // the kernel is not done with the last one
	}
	return err
}
