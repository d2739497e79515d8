//go:build cgo

package bench

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// openCompiled starts the loop in C++ (loop/loop.cc) on a checkpoint of the store, if it
// was built: it is looked for beside the stoa binary. Where that was built with a RocksDB
// of its own (ROCKSDB_PREFIX), there is the loop with the system's as well. So it goes with the
// typed store in Rust (loop/rust).
func openCompiled(o Options, data *Dataset) ([]*Subject, error) {
	subjects, err := startLoop(o, data, "rocksdb-c++", "bench-loop", "compiled")
	if err != nil || len(subjects) == 0 {
		if err == nil {
			o.Logger.Warn("there is no bench-loop beside the stoa binary (make bench-build): the loop in C++ is not measured")
		}
		return nil, err
	}
	system, err := startLoop(o, data, "system-c++", "bench-loop-system", "system")
	if subjects = append(subjects, system...); err != nil {
		return subjects, err
	}
	rust, err := startLoop(o, data, "rust", "bench-loop-rust", "rust")
	for _, s := range rust {
		s.Lacks = slices.DeleteFunc(RowWorkloadNames(), func(name string) bool { return slices.Contains(inRust, name) })
	}
	return append(subjects, rust...), err
}

// inRust are the workloads on rows that the store in Rust has.
var inRust = []string{"get", "get-missing", "put", "batch-100", "scan-100"}

// startLoop returns no subject where the program is not there.
func startLoop(o Options, data *Dataset, name, program, checkpoint string) ([]*Subject, error) {
	program = filepath.Join(filepath.Dir(o.Stoa), program)
	if _, err := os.Stat(program); o.Stoa == "" || err != nil {
		return nil, nil
	}
	dir := o.path(checkpoint)
	l := &loop{process: &process{cmd: exec.Command(program, dir, strconv.Itoa(data.Rows), strconv.Itoa(cacheBytes))}}
	in, err := l.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := l.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	l.in, l.out = in, bufio.NewReader(out)
	if err := l.run(); err != nil {
		return nil, err
	}
	s := &Subject{
		Name: name, Typed: true, Elsewhere: l.cpu, Server: l.pid(), Dir: dir,
		Turn: l.turn, Settle: func() error { _, err := l.ask("flush"); return err },
		Close: func() error { return errors.Join(in.Close(), l.stop()) },
	}
	version, err := l.ask("version")
	if err == nil {
		o.Logger.Info("a loop of its own", "subject", name, "rocksdb", strings.Join(version, " "))
		_, err = l.ask("warm")
	}
	return []*Subject{s}, err
}

// loop is the program at work. It is asked in lines, and answers each with one.
type loop struct {
	*process
	in  io.Writer
	out *bufio.Reader
}

// ask returns the words of the answer.
func (l *loop) ask(format string, args ...any) ([]string, error) {
	if _, err := fmt.Fprintf(l.in, format+"\n", args...); err != nil {
		return nil, l.failed(err)
	}
	line, err := l.out.ReadString('\n')
	if err != nil {
		return nil, l.failed(err)
	}
	return strings.Fields(line), nil
}

func (l *loop) failed(err error) error {
	return errors.Join(fmt.Errorf("bench: a loop of its own: %w", err), l.stop(), errors.New(l.process.out.String()))
}

// turn is Subject.Turn: the answer is the units, the CPU time of its workers and the latencies, in nanoseconds.
func (l *loop) turn(workload string, workers int, d time.Duration) (units int, cpu time.Duration, latencies []time.Duration, err error) {
	words, err := l.ask("%s %d %d", workload, workers, d.Nanoseconds())
	if err != nil {
		return 0, 0, nil, err
	}
	for i, word := range words {
		n, err := strconv.ParseInt(word, 10, 64)
		switch {
		case err != nil:
			return 0, 0, nil, fmt.Errorf("bench: the loop answers %q: %w", word, err)
		case i == 0:
			units = int(n)
		case i == 1:
			cpu = time.Duration(n)
		default:
			latencies = append(latencies, time.Duration(n))
		}
	}
	return units, cpu, latencies, nil
}
