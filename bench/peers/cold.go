package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	"golang.org/x/sys/unix"

	"github.com/stoadb/stoa/bench"
)

// coldRun measures rows that do not fit into memory. Each store is filled and read by processes of their
// own, in a cgroup that bounds what they and the kernel keep of its files, and begins to be read with
// nothing of it in memory.
type coldRun struct {
	cold         bool
	child, dir   string // a process that measures: "load pebble", and where
	cache, limit int64  // bytes
	most, turn   time.Duration
	only         string
}

// coldStores are the stores in the order in which they are measured. grocksdb reads what rocks has filled.
var coldStores = []string{"rocks", "grocksdb", "pebble", "bbolt"}

func (c *coldRun) flags() {
	flag.BoolVar(&c.cold, "cold", false, "measure rows that do not fit into memory, in: "+strings.Join(coldStores, ", ")+" (Linux, as root)")
	flag.Int64Var(&c.cache, "cold-cache", 256<<20, "bytes of the cache of a store")
	flag.Int64Var(&c.limit, "cold-memory", 768<<20, "bytes that a process and the pages of its files may take")
	flag.DurationVar(&c.most, "cold-load", 10*time.Minute, "how long a store may take to be filled; what it has by then is read")
	flag.DurationVar(&c.turn, "cold-turn", 20*time.Second, "how long rows are read, and then ranges of them")
	flag.StringVar(&c.only, "cold-only", "", "the stores, with commas between (default all)")
	flag.StringVar(&c.dir, "cold-dir", "", "where the stores are made, one after the other (default a temporary directory)")
	flag.StringVar(&c.child, "cold-child", "", "of processes that this command begins: what it is to do")
}

// coldFigures are what a process has found. Zero: it was not asked for.
type coldFigures struct {
	Rows       int     `json:",omitempty"`
	LoadS      float64 `json:",omitempty"` // wall time
	LoadCPU    float64 `json:",omitempty"` // µs a row
	Written    float64 `json:",omitempty"` // bytes written to disk, by byte of rows: while they were loaded,
	Rewritten  float64 `json:",omitempty"` // and when a tenth of them was written again
	DiskMB     float64 `json:",omitempty"`
	StartMS    float64 `json:",omitempty"` // until the first row was read
	GetUS      float64 `json:",omitempty"` // median
	Get99US    float64 `json:",omitempty"`
	GetCPU     float64 `json:",omitempty"` // µs
	GetRead    float64 `json:",omitempty"` // bytes read from disk, by get
	ScanUS     float64 `json:",omitempty"` // median, of 100 rows
	ScanCPU    float64 `json:",omitempty"` // µs an entry
	WalkMBs    float64 `json:",omitempty"` // MB of rows a second, of all
	WalkCPU    float64 `json:",omitempty"` // µs an entry
	ResidentMB float64 `json:",omitempty"` // at the end
}

func (c *coldRun) run(o bench.Options) error {
	stores := coldStores
	if c.only != "" {
		stores = strings.Split(c.only, ",")
	}
	dir, err := os.MkdirTemp(c.dir, "stoa-cold")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	group, err := c.group()
	if err != nil {
		return fmt.Errorf("a cgroup that bounds memory: %w (it takes root, and cgroups of version 1 or 2)", err)
	}
	defer os.Remove(group)
	fmt.Printf("%d rows of %d bytes, a cache of %d MiB, %d MiB of memory in all\n", o.Rows, bench.KeyBytes+bench.ValueBytes, c.cache>>20, c.limit>>20)
	fmt.Println("store     |     rows  load s  µs/row  written  again  disk MB | start ms  get µs    p99    CPU  read B | scan µs  CPU/e | all MB/s  CPU/e  RSS MB")
	rows := o.Rows
	for i, name := range stores {
		var f coldFigures
		if name != "grocksdb" {
			if err := c.begin(group, dir, "load "+name, o.Rows, &f); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			rows = f.Rows
		}
		f.Rows = rows
		if err := os.WriteFile("/proc/sys/vm/drop_caches", []byte("3"), 0); err != nil {
			return err
		}
		if err := c.begin(group, dir, "read "+name, rows, &f); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		fmt.Printf("%-9s | %8d  %6.0f  %6.2f  %7.2f  %5.2f  %7.0f | %8.1f  %6.1f %6.0f  %5.1f  %6.0f | %7.0f  %5.2f | %8.0f  %5.2f  %6.0f\n", name, f.Rows, f.LoadS, f.LoadCPU, f.Written, f.Rewritten,
			f.DiskMB, f.StartMS, f.GetUS, f.Get99US, f.GetCPU, f.GetRead, f.ScanUS, f.ScanCPU, f.WalkMBs, f.WalkCPU, f.ResidentMB)
		if i+1 == len(stores) || stores[i+1] != "grocksdb" {
			if err := clearDir(dir); err != nil {
				return err
			}
		}
	}
	return nil
}

func clearDir(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
	}
	return err
}

// group makes a cgroup whose processes, and the pages that they have read, take no more than the limit.
func (c *coldRun) group() (string, error) {
	dir, file := "/sys/fs/cgroup/memory/stoa-cold", "memory.limit_in_bytes"
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		dir, file = "/sys/fs/cgroup/stoa-cold", "memory.max"
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return dir, os.WriteFile(filepath.Join(dir, file), []byte(strconv.FormatInt(c.limit, 10)), 0)
}

// begin has a process of the group do something, and adds what it found to f.
func (c *coldRun) begin(group, dir, what string, rows int, f *coldFigures) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command("/bin/sh", "-c", `echo $$ > "$0" && exec "$@"`, filepath.Join(group, "cgroup.procs"), self,
		"-cold-child", what, "-cold-dir", dir, "-rows", strconv.Itoa(rows), "-cold-cache", strconv.FormatInt(c.cache, 10), "-cold-load", c.most.String(), "-cold-turn", c.turn.String())
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return json.Unmarshal(out, f)
}

// work is what such a process does.
func (c *coldRun) work(o bench.Options) error {
	o.Dir = c.dir
	f, err := c.find(o)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(f)
}

// find fills a store, or reads it.
func (c *coldRun) find(o bench.Options) (f coldFigures, err error) {
	what, name, _ := strings.Cut(c.child, " ")
	data := &bench.Dataset{Rows: o.Rows}
	begun := time.Now()
	s, err := c.open(o, name, data)
	if err != nil {
		return f, err
	}
	a, err := s.Actor()
	if err != nil {
		return f, errors.Join(err, s.Close())
	}
	if what == "load" {
		err = c.load(s, a, data, &f)
	} else if err = a.Get(0); err == nil {
		f.StartMS = time.Since(begun).Seconds() * 1e3
		err = c.read(a, data, &f)
	}
	return f, errors.Join(err, a.Release(), s.Close())
}

func (c *coldRun) open(o bench.Options, name string, data *bench.Dataset) (*bench.Subject, error) {
	switch name {
	case "rocks", "grocksdb":
		return bench.OpenStore(o, data, name == "grocksdb", uint64(c.cache))
	case "pebble":
		db, err := pebbleIn(o, c.cache)
		if err != nil {
			return nil, err
		}
		return &bench.Subject{Name: name, Settle: db.Flush, Close: db.Close, Actor: func() (bench.Actor, error) { return newPebble(db, data), nil }}, nil
	case "bbolt":
		db, err := bbolt.Open(filepath.Join(o.Dir, "bbolt"), 0o600, nil)
		if err == nil {
			err = db.Update(func(tx *bbolt.Tx) error { _, err := tx.CreateBucketIfNotExists(bucket); return err })
		}
		if err != nil {
			return nil, err
		}
		return &bench.Subject{Name: name, Settle: db.Sync, Close: db.Close, Actor: func() (bench.Actor, error) { return newBolt(db, data, db.Update), nil }}, nil
	}
	return nil, fmt.Errorf("%q is none of: %s", name, strings.Join(coldStores, ", "))
}

// load fills a store, by batches of a thousand rows whose keys have no order, and writes a tenth of them
// again, by batches of a hundred.
func (c *coldRun) load(s *bench.Subject, a bench.Actor, data *bench.Dataset, f *coldFigures) error {
	const rowBytes = bench.KeyBytes + bench.ValueBytes
	begun, before, cpu := time.Now(), written(), cpuTime()
	for f.Rows < data.Rows && time.Since(begun) < c.most {
		if err := a.Batch(f.Rows, min(loadRows, data.Rows-f.Rows)); err != nil {
			return err
		}
		f.Rows += min(loadRows, data.Rows-f.Rows)
	}
	if err := s.Settle(); err != nil {
		return err
	}
	f.LoadS = time.Since(begun).Seconds()
	settled()
	f.LoadCPU = (cpuTime() - cpu).Seconds() * 1e6 / float64(f.Rows)
	f.Written = float64(written()-before) / float64(f.Rows*rowBytes)
	before = written()
	r, again := rand.New(rand.NewPCG(1, 2)), f.Rows/10
	for n := 0; n < again && time.Since(begun) < 2*c.most; n += 100 {
		if err := a.Batch(r.IntN(f.Rows-100), 100); err != nil {
			return err
		}
	}
	if err := s.Settle(); err != nil {
		return err
	}
	settled()
	f.Rewritten = float64(written()-before) / float64(again*rowBytes)
	return filepath.WalkDir(c.dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			f.DiskMB += float64(info.Size()) / 1e6
		}
		return nil
	})
}

// settled waits until nothing is written for two seconds: compactions are over.
func settled() {
	for before, same := written(), 0; same < 4; {
		time.Sleep(500 * time.Millisecond)
		if now := written(); now == before {
			same++
		} else {
			before, same = now, 0
		}
	}
}

// read reads rows at random, a hundred in order from one at random, and all.
func (c *coldRun) read(a bench.Actor, data *bench.Dataset, f *coldFigures) error {
	r := rand.New(rand.NewPCG(3, 4))
	timed := func(fn func() error) (took []time.Duration, cpu time.Duration, err error) {
		cpu = cpuTime()
		for begun := time.Now(); time.Since(begun) < c.turn && err == nil; {
			at := time.Now()
			err = fn()
			took = append(took, time.Since(at))
		}
		slices.Sort(took)
		return took, cpuTime() - cpu, err
	}
	before := proc("io", "read_bytes:")
	took, cpu, err := timed(func() error { return a.Get(r.IntN(data.Rows)) })
	if err != nil {
		return err
	}
	f.GetUS, f.Get99US = took[len(took)/2].Seconds()*1e6, took[len(took)*99/100].Seconds()*1e6
	f.GetCPU, f.GetRead = cpu.Seconds()*1e6/float64(len(took)), float64(proc("io", "read_bytes:")-before)/float64(len(took))
	entries := 0
	took, cpu, err = timed(func() error {
		n, err := a.Scan(r.IntN(data.Rows), 100)
		entries += n
		return err
	})
	if err != nil {
		return err
	}
	f.ScanUS, f.ScanCPU = took[len(took)/2].Seconds()*1e6, cpu.Seconds()*1e6/float64(entries)
	begun, cpu := time.Now(), cpuTime()
	n, err := a.Walk()
	if err == nil && n != data.Rows {
		err = fmt.Errorf("%d rows, of %d", n, data.Rows)
	}
	f.WalkMBs = float64(n*(bench.KeyBytes+bench.ValueBytes)) / 1e6 / time.Since(begun).Seconds()
	f.WalkCPU = (cpuTime() - cpu).Seconds() * 1e6 / float64(max(n, 1))
	f.ResidentMB = float64(proc("status", "VmRSS:")<<10) / 1e6
	return err
}

// cpuTime is what this process has used so far, written how many bytes it has had written to disk.
func cpuTime() time.Duration { return bench.CPU(unix.RUSAGE_SELF) }
func written() int64         { return proc("io", "write_bytes:") }

// proc returns a number of a file of this process under /proc, 0 if it is not to be had.
func proc(file, name string) int64 {
	n, _ := bench.ProcNumber(os.Getpid(), file, name)
	return n
}
