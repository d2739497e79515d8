package torture

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/engine/rocks"
	"github.com/stoadb/stoa/engine/rocks/diskfile"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/setting"
)

// defectEnv makes this program a daemon with the defect that it names.
const defectEnv = "STOA_TORTURE_DEFECT"

// defects are engines that a daemon runs on, by what is wrong with them.
var defects = map[string]func(*rocks.Engine) (engine.Engine, error){
	"nothing":            func(e *rocks.Engine) (engine.Engine, error) { return serial(e, e.Apply), nil },
	"skipped root check": func(e *rocks.Engine) (engine.Engine, error) { return e, nil }, // see front
	"sync off":           writeBehind,
	"unsynced":           func(e *rocks.Engine) (engine.Engine, error) { return serial(e, unsynced(e)), nil },
	"point in time":      func(e *rocks.Engine) (engine.Engine, error) { return e, nil }, // see cutAtDamage
	"split batch":        func(e *rocks.Engine) (engine.Engine, error) { return serial(e, inTwo(e)), nil },
	"lost index row":     func(e *rocks.Engine) (engine.Engine, error) { return serial(e, without(e, "dag-seq")), nil },
	"uncounted use":      recordsLost("", `"uses_count":`),
	"lost grant":         recordsLost("resource:db:", ""),
	"lost answer":        recordsLost("", `"response_action":`),
	"undone job":         forgetting(kv.ShapeRecord, engine.KindDelete, "chore ", ""),
	"lost event":         forgetting(kv.ShapeEntry, engine.KindPut, "", `{"news":`),
	"uncounted check":    forgetting(kv.ShapeRecord, engine.KindPut, "tasks:create", ""),
	"lost setting":       forgetting(kv.ShapeRecord, engine.KindPut, setting.LockDefaultTTL, ""),
	"stayed signed in":   forgetting(kv.ShapeRecord, engine.KindDelete, "@", ""),
	"lost change":        forgetting(kv.ShapeRecord, engine.KindPut, "shelf.", ""),
	"uncounted entry":    forgetting(kv.ShapeRecord, engine.KindPut, "sum.", ""),
	"broken compare":     func(e *rocks.Engine) (engine.Engine, error) { return serial(e, unguarded(e)), nil },
}

// defective is an engine that makes its writes one after the other, and in its own
// way.
type defective struct {
	engine.Engine
	mu    sync.Mutex
	write func(*engine.Batch) error
}

func serial(e engine.Engine, write func(*engine.Batch) error) *defective {
	return &defective{Engine: e, write: write}
}

func (d *defective) Apply(b *engine.Batch) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.write(b)
}

func (d *defective) Update(fn func(engine.Getter, *engine.Batch) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var b engine.Batch
	if err := fn(d.Engine, &b); err != nil {
		return err
	}
	return d.write(&b)
}

// part returns the changes of b that keep wants, without its expectations.
func part(b *engine.Batch, keep func(i int, op engine.Op) bool) (*engine.Batch, error) {
	p, i := &engine.Batch{Durability: b.Durability}, 0
	for op, err := range b.Ops {
		if err != nil {
			return nil, err
		}
		if keep(i, op) {
			switch op.Kind {
			case engine.KindPut:
				p.Put(op.Column, op.Key, op.Value)
			case engine.KindDelete:
				p.Delete(op.Column, op.Key)
			case engine.KindDeleteRange:
				p.DeleteRange(op.Column, op.Key, op.Value)
			}
		}
		i++
	}
	return p, nil
}

func all(int, engine.Op) bool { return true }

// guard returns the expectations of b, and no changes.
func guard(b *engine.Batch) (*engine.Batch, error) {
	g := &engine.Batch{Durability: b.Durability}
	for want, err := range b.Expected {
		switch {
		case err != nil:
			return nil, err
		case want.Absent:
			g.ExpectAbsent(want.Column, want.Key)
		default:
			g.Expect(want.Column, want.Key, want.Want)
		}
	}
	return g, nil
}

// inTwo writes one half of a batch, and then the other.
func inTwo(e engine.Engine) func(*engine.Batch) error {
	return func(b *engine.Batch) error {
		half := b.Len() / 2
		g, err := guard(b)
		if err == nil {
			err = e.Apply(g)
		}
		if err != nil {
			return err
		}
		for i, keep := range []func(int, engine.Op) bool{
			func(i int, _ engine.Op) bool { return i < half },
			func(i int, _ engine.Op) bool { return i >= half },
		} {
			p, err := part(b, keep)
			if err == nil {
				time.Sleep(time.Duration(i) * time.Millisecond)
				err = e.Apply(p)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// without leaves out the rows of a scope, one in four.
func without(e engine.Engine, scope string) func(*engine.Batch) error {
	return leavingOut(e, func(op engine.Op) bool {
		return op.Column == column.Generic && len(op.Key) >= 16 && string(op.Key[:len(scope)]) == scope
	})
}

// recordsLost leaves out one in four of the records whose key and value have some bytes.
func recordsLost(key, value string) func(*rocks.Engine) (engine.Engine, error) {
	return func(e *rocks.Engine) (engine.Engine, error) {
		return serial(e, leavingOut(e, func(op engine.Op) bool {
			row, err := kv.ParseRow(op.Key)
			return op.Column == column.Generic && err == nil && row.Shape == kv.ShapeRecord && bytes.Contains(op.Key, []byte(key)) && bytes.Contains(op.Value, []byte(value))
		})), nil
	}
}

// forgetting says of one in four of the batches that have a change of some kind that they are
// written, and forgets them as a whole, so that what is stored is sound.
func forgetting(shape kv.Shape, does engine.Kind, key, value string) func(*rocks.Engine) (engine.Engine, error) {
	return func(e *rocks.Engine) (engine.Engine, error) {
		n := 0
		return serial(e, func(b *engine.Batch) error {
			for op, err := range b.Ops {
				if err != nil {
					return err
				}
				row, err := kv.ParseRow(op.Key)
				if op.Column != column.Generic || err != nil || row.Shape != shape || op.Kind != does ||
					!bytes.Contains(op.Key, []byte(key)) || !bytes.Contains(op.Value, []byte(value)) {
					continue
				}
				if n++; n%4 == 0 {
					g, err := guard(b)
					if err == nil {
						err = e.Apply(g)
					}
					return err
				}
				break
			}
			return e.Apply(b)
		}), nil
	}
}

// leavingOut leaves out one in four of the rows that are of some kind.
func leavingOut(e engine.Engine, of func(engine.Op) bool) func(*engine.Batch) error {
	n := 0
	return func(b *engine.Batch) error {
		g, err := guard(b)
		if err == nil {
			err = e.Apply(g)
		}
		if err != nil {
			return err
		}
		p, err := part(b, func(_ int, op engine.Op) bool {
			if !of(op) {
				return true
			}
			n++
			return n%4 != 0
		})
		if err != nil {
			return err
		}
		return e.Apply(p)
	}
}

// unguarded writes whatever is expected.
func unguarded(e engine.Engine) func(*engine.Batch) error {
	return func(b *engine.Batch) error {
		p, err := part(b, all)
		if err != nil {
			return err
		}
		return e.Apply(p)
	}
}

// unsynced writes to the log, and leaves it to others to sync that.
func unsynced(e engine.Engine) func(*engine.Batch) error {
	return func(b *engine.Batch) error {
		b.Durability = engine.WAL
		return e.Apply(b)
	}
}

// cutAtDamage does to the logs of dir what RocksDB does in its own mode of recovery,
// "point in time": all from the first damage on is dropped, and nobody is told.
func cutAtDamage(dir string) error {
	logs, err := diskfile.Files(dir, ".log")
	if errors.Is(err, fs.ErrNotExist) {
		return nil // there is no store yet
	}
	cut := false
	for _, log := range logs {
		if cut {
			err = errors.Join(err, os.Remove(log.Path))
			continue
		}
		b, rerr := os.ReadFile(log.Path)
		err = errors.Join(err, rerr)
		for _, bad := range diskfile.Log(bytes.NewReader(b)) {
			var d *diskfile.Damage
			if errors.As(bad, &d) {
				err, cut = errors.Join(err, os.Truncate(log.Path, d.Offset)), true
				break
			}
		}
	}
	return err
}

// lag is how many batches a power loss would take from a daemon that does not sync:
// a kill takes them from writeBehind.
const lag = 20

// writeBehind acknowledges what is in memory, and writes it later.
func writeBehind(disk *rocks.Engine) (engine.Engine, error) {
	front := mem.New()
	for c := range column.All {
		it, err := disk.Iterate(c, engine.Range{})
		if err != nil {
			return nil, err
		}
		for it.Next() {
			var b engine.Batch
			b.Put(c, it.Key(), it.Value())
			if err := front.Apply(&b); err != nil {
				return nil, err
			}
		}
		if err := errors.Join(it.Err(), it.Close()); err != nil {
			return nil, err
		}
	}
	var queue []*engine.Batch
	return serial(front, func(b *engine.Batch) error {
		later, err := part(b, all)
		if err == nil {
			err = front.Apply(b)
		}
		if err != nil {
			return err
		}
		if queue = append(queue, later); len(queue) > lag {
			err = disk.Apply(queue[0])
			queue = queue[1:]
		}
		return err
	}), nil
}

// serveWithDefect is the daemon with a defect. It serves until it is
// killed or interrupted.
func serveWithDefect(defect string, args []string) int {
	if err := serveDir(defect, args[3]); err != nil { // after the program, serve and --dir
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func serveDir(defect, dir string) error {
	made := defects[defect]
	if made == nil {
		return fmt.Errorf("no defect is called %q", defect)
	}
	o := rocks.Options{WatermarkEvery: 10 * time.Millisecond}
	switch defect {
	case "unsynced":
		o.WatermarkEvery = time.Second // which syncs
	case "point in time":
		if err := cutAtDamage(dir); err != nil {
			return err
		}
	}
	disk, err := rocks.Open(dir, o)
	if err != nil {
		return err
	}
	e, err := made(disk)
	if err != nil {
		return err
	}
	socket := filepath.Join(dir, "stoa.sock")
	if defect == "skipped root check" {
		public := socket
		socket = filepath.Join(dir, "inner.sock")
		go func() {
			if err := front(public, socket); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}()
	}
	return errors.Join(serveEngine(e, disk, socket, parts{}), disk.Close())
}
