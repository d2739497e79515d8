package torture

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/rpc"
)

// Sizes of the disks, in MiB.
const (
	smallestDisk = 40
	mostLog      = 8
	growth       = 64 // of each disk, each time that it is full
	fillsOfDisk  = 2  // then an empty one takes its place
)

// filling is a harness whose disk fills up, and grows.
type filling struct {
	*harness
	size  int // of the disk, in MiB
	fills int
	kept  bool // the daemon is told to leave some of the disk free
	met   map[string]int
	no    int64 // how many writes were refused
}

// newFilling mounts a small disk for the store; what its daemon logs is elsewhere.
func newFilling(t testing.TB, p program, seed uint64) *filling {
	t.Helper()
	f := &filling{harness: newHarness(t, p, seed), size: smallestDisk, met: map[string]int{}}
	f.bears, f.more = noSpace, []kind{{"large Blob uploads", newLargeBlobs}}
	if err := os.Mkdir(f.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", f.dir, "tmpfs", 0, fmt.Sprintf("size=%dm,mode=0700", f.size)); err != nil {
		t.Skipf("SKIPPED: no disk was full: only root, and not in every container, can mount a small one: %v", err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			left := f.dir + ".left"
			_ = os.Remove(filepath.Join(f.dir, "stoa.sock")) // no file that can be copied
			t.Logf("the store is now %s: %v", left, os.CopyFS(left, os.DirFS(f.dir)))
		}
		if err := unix.Unmount(f.dir, unix.MNT_DETACH); err != nil {
			t.Errorf("unmounting %s: %v", f.dir, err)
		}
	})
	f.replace()
	return f
}

// noSpace is what every write may get while the disk is full.
func noSpace(err error) bool {
	return errors.Is(err, engine.ErrNoSpace) || errors.Is(err, engine.ErrReadOnly)
}

// resize makes the disk larger, or an empty one smaller.
func (f *filling) resize(mib int) error {
	f.size = mib
	if err := unix.Mount("tmpfs", f.dir, "tmpfs", unix.MS_REMOUNT, fmt.Sprintf("size=%dm", mib)); err != nil {
		return fmt.Errorf("a disk of %d MiB: %w", mib, err)
	}
	return nil
}

// run has the disk be full so many times, and returns the first thing that is wrong.
func (f *filling) run(times int) error {
	first := f.rand.IntN(2)
	for f.fills < times {
		if f.fills%fillsOfDisk == 0 && f.fills > 0 {
			f.replace()
			if err := f.resize(smallestDisk + f.rand.IntN(32)); err != nil {
				return err
			}
		}
		f.kept = f.fills%2 == first
		f.program.args = []string{"--max-wal", fmt.Sprint(mostLog, "MiB"), "--min-free", "0"}
		if f.kept {
			f.program.args[3] = fmt.Sprint(f.keptFree(), "MiB")
		}
		if err := f.round(); err != nil {
			return fmt.Errorf("disk %d, of %d MiB, some of it kept free: %t: %w", f.fills, f.size, f.kept, err)
		}
		f.fills++
		if f.fills == times || f.fills%fillsOfDisk == 0 {
			if err := f.end(); err != nil {
				return err
			}
		}
	}
	return nil
}

// keptFree is how many MiB of the disk stay free where some are kept: what it takes to put
// the log into tables, and these, with the blobs that are collected, into others.
func (f *filling) keptFree() int { return mostLog + f.size/3 }

// count counts what a daemon did.
func (f *filling) count(what string, did outcome) {
	limit := "all of it used"
	if f.kept {
		limit = "some kept free"
	}
	f.met[fmt.Sprintf("%s: %s %s", limit, what, did)]++
}

// round fills the disk, has the daemon do something on it, makes it grow, and demands
// that all is as it was, and that writes are taken.
func (f *filling) round() error {
	d, clients, err := f.serve()
	if err != nil {
		return err
	}
	if err := f.harness.recount(clients); err != nil {
		hangUp(clients)
		return errors.Join(err, d.kill())
	}
	d, clients, err = f.fill(d, clients)
	if err != nil {
		hangUp(clients)
		return err
	}
	if d == nil {
		if err := errors.Join(f.check(), f.startFull(), f.check(), f.resize(f.size+growth)); err != nil {
			return err
		}
		if d, clients, err = f.serve(); err != nil {
			return err
		}
	} else if err := f.grow(clients[0]); err != nil {
		hangUp(clients)
		return errors.Join(err, d.kill())
	}
	err = f.goOn(clients)
	hangUp(clients)
	if f.rand.IntN(2) == 0 {
		err = errors.Join(err, d.kill())
	} else {
		stopped := d.stop()
		if stopped != nil && !f.kept { // a flush or a compaction may have filled the disk again
			var did outcome
			did, stopped = ending(d)
			f.count("when it was stopped, the daemon", did)
		}
		err = errors.Join(err, stopped)
	}
	return errors.Join(err, f.check())
}

// fill has the workers use the daemon until all of them are refused what they ask
// for. It returns the daemon unless that has ended.
func (f *filling) fill(d *served, clients []*rpc.Client) (*served, []*rpc.Client, error) {
	f.frail = !f.kept
	l := f.work(clients)
	err := l.standstill()
	err = errors.Join(err, l.end(f.harness))
	f.frail = false
	for i := range l.refused {
		f.no += l.refused[i].Load()
	}
	if err != nil {
		return nil, clients, errors.Join(err, d.kill())
	}
	if !d.over(0) {
		if err := f.whileFull(d, clients); err != nil && (isWrong(err) || f.kept || !d.over(5*time.Second)) {
			return nil, clients, errors.Join(err, d.kill())
		}
	}
	does, asked := "the daemon", f.rand.IntN(4)
	switch {
	case d.over(0): // RocksDB's assertions, if they end it
	case asked == 0:
		_ = d.cmd.Process.Kill() // it runs
		does = "killed when the disk was full, the daemon"
	case asked == 1:
		_ = d.cmd.Process.Signal(os.Interrupt) // it runs
		does = "stopped when the disk was full, the daemon"
	default:
		f.count(does, wentOn)
		return d, clients, nil
	}
	hangUp(clients)
	if !d.over(time.Minute) {
		return nil, nil, errors.Join(fmt.Errorf("%w: %s", errStuck, d.tail()), d.kill())
	}
	did, err := ending(d)
	if err == nil && f.kept && did == aborted {
		err = wrongf("the daemon was aborted, which keeps some of the disk free: %s", d.tail())
	}
	f.count(does, did)
	return nil, nil, err
}

// whileFull looks at a daemon that has refused writes: reads go on, and it says why.
func (f *filling) whileFull(d *served, clients []*rpc.Client) error {
	for i, w := range f.workers {
		if err := recount(w, clients[i%len(clients)]); err != nil && !noSpace(err) {
			return fmt.Errorf("while the disk is full: %s: %w", w.does, err)
		}
	}
	s, err := clients[0].Status(context.Background())
	if err != nil {
		return err
	}
	h := s.GetHealth()
	switch {
	case f.kept && !h.GetWritable():
		return wrongf("it keeps some of the disk free, and is read-only: %s", h.GetReason())
	case !f.kept && (h.GetWritable() || h.GetReason() == ""):
		return wrongf("the disk is full, and the daemon thinks that it can be written to: %t, %q", h.GetWritable(), h.GetReason())
	case f.kept:
		return nil
	}
	if h, err := clients[0].Reopen(context.Background()); err != nil && !noSpace(err) {
		return fmt.Errorf("reopening on a full disk: %w", err)
	} else if err == nil {
		f.count("reopened when the disk was full, the daemon", map[bool]outcome{true: "had room", false: refused}[h.Writable])
	}
	for i, w := range f.workers {
		if err := recount(w, clients[i%len(clients)]); err != nil && !noSpace(err) {
			return fmt.Errorf("after reopening on a full disk: %s: %w", w.does, err)
		}
	}
	return nil
}

// startFull starts a daemon while the disk is full: it serves what there is, or says
// why it does not, and changes nothing.
func (f *filling) startFull() error {
	const does = "started when the disk was full, the daemon"
	d, err := f.program.serve(f.dir)
	if err != nil {
		return err
	}
	c, err := d.dial(rpc.FramingFrames)
	if err != nil {
		if !d.over(0) {
			return errors.Join(err, d.kill())
		}
		did, err := ending(d)
		if did == notStopped {
			did = notStarted
		}
		f.count(does, did)
		if err == nil && f.kept && did == aborted {
			err = wrongf("the daemon was aborted, which keeps some of the disk free: %s", d.tail())
		}
		return err
	}
	defer c.Close()
	f.count(does, "serves")
	for _, w := range f.workers {
		if err := recount(w, c); err != nil && !noSpace(err) {
			return errors.Join(fmt.Errorf("started on a full disk: %s: %w", w.does, err), d.kill())
		}
	}
	return d.kill()
}

// grow makes the disk grow under a daemon that has refused writes.
func (f *filling) grow(c *rpc.Client) error {
	if err := f.resize(f.size + growth); err != nil {
		return err
	}
	if f.kept {
		return untilTaken(c) // it looks at the disk ten times a second
	}
	h, err := c.Reopen(context.Background())
	if err == nil && !h.Writable {
		err = wrongf("reopened, it is read-only: %s", h.Reason)
	}
	return err
}

// untilTaken writes a row that nobody counts until that is taken.
func untilTaken(c *rpc.Client) (err error) {
	var b engine.Batch
	b.Put(column.Generic, []byte("stoa.test\x00\x00\x00\x00\x00\x00\x00grown"), nil)
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if err = c.Store(context.Background()).Apply(&b); !noSpace(err) {
			return err
		}
	}
	return wrongf("writes are refused on a disk that has grown: %v", err)
}

// goOn demands that everything is there, and that writes are taken.
func (f *filling) goOn(clients []*rpc.Client) error {
	if err := f.harness.recount(clients); err != nil {
		return fmt.Errorf("on a disk that has grown: %w", err)
	}
	bears := f.bears
	f.bears = nil
	defer func() { f.bears = bears }()
	l := f.work(clients)
	err := l.progress(100)
	if err = errors.Join(err, l.end(f.harness)); err != nil {
		return fmt.Errorf("on a disk that has grown: %w", err)
	}
	return f.harness.recount(clients)
}

// elsewhere is why the race detector does not see tests whose daemon is in want of
// something, or whose disk fails it.
const elsewhere = "the daemon is a process without it, and the workers are those of the kills"

// The disk is full, and grows, while the daemon is used in every way: it refuses
// writes, and takes them again; everything acknowledged is there, and verifies.
func TestAFullDiskLosesNothing(t *testing.T) {
	enginetest.SkipUnderRace(t, elsewhere)
	p, seed := realDaemon(t), seedOf(t)
	f := newFilling(t, p, seed)
	times := *fullFlag
	if times == 0 {
		times = 2
	}
	err := f.run(times)
	for _, what := range slices.Sorted(maps.Keys(f.met)) {
		t.Logf("%6d times: %s", f.met[what], what)
	}
	t.Logf("%d disks were full; %d writes refused, %d acknowledged and recounted", f.fills, f.no, f.total())
	if err != nil {
		t.Fatalf("%s=%d: %v", seedEnv, seed, err)
	}
	if f.no == 0 || f.total() == 0 {
		t.Fatal("nothing was refused, or nothing was written")
	}
}
