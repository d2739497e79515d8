//go:build cgo

package bench

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/rocks"
	"github.com/stoadb/stoa/rpc"
)

// What grows is measured from growFrom rows on, ten times as many each time, with
// a cache that the most of them do not fit.
const (
	growFrom  = 1000
	growCache = 256 << 20
)

const growName = "grow"

// growNames returns the name of the workload of stores that grow.
func growNames() []string { return []string{growName} }

// growth is what is measured of stores of several sizes.
type growth struct {
	options Options
	curves  []Curve
}

// measureGrowth measures stores of growFrom rows, of ten times as many, and so on
// up to o.Rows: the daemon beside a bare loop on a copy of its store.
func measureGrowth(o Options) ([]Result, error) {
	if !wanted(o.Workloads, growName) {
		return nil, nil
	}
	if o.Stoa == "" {
		o.Logger.Warn("no path of a stoa binary: what grows is not measured")
		return nil, nil
	}
	g := &growth{options: o}
	for rows := growFrom; ; rows *= 10 {
		rows = min(rows, o.Rows)
		o.Logger.Info("measuring", "workload", growName, "rows", rows)
		if err := g.measure(rows); err != nil {
			return nil, fmt.Errorf("bench: %s of %d rows: %w", growName, rows, err)
		}
		if rows == o.Rows {
			break
		}
	}
	return []Result{{Workload: growName, About: "stores of more and more rows, a cache of 256 MiB", Unit: "row", Curves: g.curves}}, nil
}

// measure fills a store and measures it.
func (g *growth) measure(rows int) (err error) {
	o := g.options
	o.Rows, o.Dir = rows, o.path(fmt.Sprintf("grow-%d", rows))
	if err := os.Mkdir(o.Dir, 0o700); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(o.Dir)) }()
	data := &Dataset{Rows: rows}
	begun := time.Now()
	if err := g.fill(o, data); err != nil {
		return err
	}
	g.point("filling", "s", "engine", rows, time.Since(begun).Seconds())
	disk, err := bytesOnDisk(o.path("served"))
	if err != nil {
		return err
	}
	g.point("disk", "MiB", "engine", rows, float64(disk)/(1<<20))

	begun = time.Now()
	d, err := serve(o, o.path("served"), growCache)
	if err != nil {
		return err
	}
	g.point("start until the first answer", "ms", "rpc", rows, float64(time.Since(begun).Microseconds())/1e3)
	subjects := []*Subject{d.subject("rpc", data, rpc.WithoutSharedRows())}
	defer func() {
		err = errors.Join(err, d.process.stop())
		for _, s := range subjects[1:] {
			err = errors.Join(err, s.Close())
		}
	}()
	begun = time.Now()
	bare, err := openDirect(o, data, growCache)
	subjects = append(subjects, bare...)
	if err != nil {
		return err
	}
	g.point("start until the first answer", "ms", "grocksdb", rows, float64(time.Since(begun).Microseconds())/1e3)
	if err := g.work(o, subjects); err != nil {
		return err
	}
	memory, err := d.process.resident()
	g.point("memory of the daemon", "MiB", "rpc", rows, float64(memory)/(1<<20))
	return err
}

// fill writes all rows in batches of 1,000, as one would, and leaves a copy.
func (g *growth) fill(o Options, data *Dataset) error {
	e, err := rocks.Open(o.path("served"), rocks.Options{CacheBytes: growCache})
	if err != nil {
		return err
	}
	err = errors.Join(data.load(e), e.Compact(column.State, engine.Range{}))
	if err == nil {
		err = e.Checkpoint(o.path("grocksdb"))
	}
	return errors.Join(err, e.Close())
}

// work lets both take turns at what a store is there for.
func (g *growth) work(o Options, subjects []*Subject) error {
	for _, w := range workloads {
		if w.name != "get" && w.name != "scan-100" && w.name != "batch-100" {
			continue
		}
		result, err := measure(o, w, subjects)
		if err != nil {
			return err
		}
		for _, m := range result.Measures {
			g.point(w.name, "µs", m.Subject, o.Rows, m.Wall.Median/1e3)
		}
	}
	return nil
}

// point adds a point to the curve of a subject.
func (g *growth) point(name, unit, subject string, rows int, value float64) {
	for i := range g.curves {
		if c := &g.curves[i]; c.Name == name && c.Subject == subject {
			c.Points = append(c.Points, Point{rows, value})
			return
		}
	}
	g.curves = append(g.curves, Curve{name, unit, subject, []Point{{rows, value}}})
}
