// Package bench measures Stoa beside what it stands on and what a user would
// pick instead, as ratios inside one run.
//
// Start at Run: it fills a store, lets subjects take turns at each workload in
// slices, and returns a Report that prints as a table and JSON.
// Command peers draws charts of it.
// README.md says what each figure means.
package bench

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Options say what is measured. The zero Options are those of `stoa bench`.
type Options struct {
	// Rows is how many rows the store has. 0: 1,000,000.
	Rows int
	// Slice is how long a subject works before the next takes its turn. 0: 2 s.
	Slice time.Duration
	// Rounds is how many turns each subject has at each workload, after a
	// warm-up of half a slice. 0: 3.
	Rounds int
	// Workloads are the names of the workloads to run. Empty: all.
	Workloads []string
	// Subjects are the names of the subjects that take turns at the workloads on
	// the rows. Empty: all.
	Subjects []string
	// Stoa is the path of the stoa binary that serves the subject "rpc" and the Kv
	// service. Empty: they are left out.
	Stoa string
	// Dir is where the stores are made; what is made there is deleted at the
	// end. Empty: a temporary directory.
	Dir string
	// Peers opens subjects that are measured beside those on RocksDB, in place
	// of mem and redis. nil: there are none.
	Peers Peers
	// KVPeers opens stores that the Kv service is measured beside, as well as
	// redis-server. nil: no others.
	KVPeers KVPeers
	// LockPeers opens what the Lock service is measured beside. nil: nothing else.
	LockPeers LockPeers
	// BucketPeers opens what the Bucket service is measured beside. nil: nothing else.
	BucketPeers BucketPeers
	// Logger is told how far the run is. nil: nobody is.
	Logger *slog.Logger
}

func (o Options) withDefaults() (Options, error) {
	if o.Rows == 0 {
		o.Rows = 1_000_000
	}
	if o.Slice == 0 {
		o.Slice = 2 * time.Second
	}
	if o.Rounds == 0 {
		o.Rounds = 3
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Rows < 2*batchLarge || o.Rounds < 1 || o.Slice < time.Millisecond {
		return o, fmt.Errorf("bench: %d rows, %d rounds, slices of %s: at least %d rows, one round, 1ms",
			o.Rows, o.Rounds, o.Slice, 2*batchLarge)
	}
	for _, name := range o.Workloads {
		if !slices.Contains(WorkloadNames(), name) {
			return o, fmt.Errorf("bench: no workload %q: there are %v", name, WorkloadNames())
		}
	}
	return o, nil
}

// Run measures and returns the report. It takes about Rounds x Slice for each
// workload and subject.
func Run(o Options) (*Report, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if o.Dir == "" {
		if o.Dir, err = os.MkdirTemp("", "stoa-bench"); err != nil {
			return nil, fmt.Errorf("bench: %w", err)
		}
		defer os.RemoveAll(o.Dir)
	}
	r := newReport(o)
	if onRows(o.Workloads) {
		if err := r.measureRows(o); err != nil {
			return nil, err
		}
	}
	for _, part := range parts(o) {
		more, err := part(o)
		if err != nil {
			return nil, err
		}
		r.Results = append(r.Results, more...)
	}
	return r, nil
}

// parts returns what measures workloads that are not on the rows.
func parts(o Options) []func(Options) ([]Result, error) {
	if o.Peers != nil {
		return []func(Options) ([]Result, error){measureKV}
	}
	return []func(Options) ([]Result, error){measureDags, measureGovernance, measureSync, measureKV, measureBlobs, measureGrowth}
}

// measureRows lets all subjects take turns at the workloads on the rows.
func (r *Report) measureRows(o Options) error {
	subjects, err := openSubjects(o, &Dataset{Rows: o.Rows})
	defer func() {
		for _, s := range subjects {
			if err := s.Close(); err != nil {
				o.Logger.Warn("closing", "subject", s.Name, "error", err)
			}
		}
	}()
	if err != nil {
		return err
	}
	r.Machine.RocksDB = rocksVersion(o.path("rocks"))
	measured, err := chosen(o, subjects)
	if err != nil {
		return err
	}
	for _, s := range measured {
		r.Subjects = append(r.Subjects, s.Name)
	}
	if err := warm(o, measured); err != nil {
		return err
	}
	if r.Sizes, err = sizesOf(measured); err != nil {
		return err
	}
	for _, w := range slices.Concat(workloads, typedWorkloads) {
		if !wanted(o.Workloads, w.name) {
			continue
		}
		o.Logger.Info("measuring", "workload", w.name)
		result, err := measure(o, w, measured)
		if err != nil {
			return err
		}
		result.besideRust()
		r.Results = append(r.Results, result)
	}
	return nil
}

// chosen returns the subjects that are wanted.
func chosen(o Options, subjects []*Subject) (some []*Subject, err error) {
	var names []string
	for _, s := range subjects {
		names = append(names, s.Name)
		if wanted(o.Subjects, s.Name) {
			some = append(some, s)
		}
	}
	for _, name := range o.Subjects {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("bench: no subject %q here: there are %v", name, names)
		}
	}
	return some, nil
}

// warm lets every subject read all of its rows once in order and once by key, so
// that none is measured with a cold cache because its process is younger.
func warm(o Options, subjects []*Subject) error {
	rows := make([]int, lookups)
	for _, s := range subjects {
		if slices.Contains(s.Lacks, "get") || s.Turn != nil {
			continue // it has no rows, or has read them
		}
		o.Logger.Info("warming", "subject", s.Name)
		a, err := s.Actor()
		if err != nil {
			return fmt.Errorf("bench: warming %s: %w", s.Name, err)
		}
		if _, err := a.Walk(); err != nil {
			return fmt.Errorf("bench: warming %s: %w", s.Name, err)
		}
		for first := 0; first < o.Rows; first += lookups {
			for i := range rows {
				rows[i] = (first + i) % o.Rows
			}
			if err := a.MultiGet(rows); err != nil {
				return fmt.Errorf("bench: warming %s: %w", s.Name, err)
			}
		}
		if err := a.Release(); err != nil {
			return fmt.Errorf("bench: warming %s: %w", s.Name, err)
		}
	}
	return nil
}

func wanted(names []string, name string) bool {
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return len(names) == 0
}

// openSubjects opens everything that can be measured here. What it returns is
// to be closed, also when it returns an error.
func openSubjects(o Options, data *Dataset) ([]*Subject, error) {
	var subjects []*Subject
	for _, open := range openers(o) {
		more, err := open(o, data)
		subjects = append(subjects, more...)
		if err != nil {
			return subjects, err
		}
	}
	return subjects, nil
}

func (o Options) path(name string) string { return filepath.Join(o.Dir, name) }
