// Command clients measures how long a get takes by the clients of rpc/clients, beside that of
// the Go client: of one row, one at a time, over the socket of one daemon that has its rows in
// memory. Each client is a process of its own and has its turn in every round. It prints the
// median of the medians, and the CPU that the client's process took for a call; and both as parts of
// what the Go client took in the same round, of which it is the median again.
package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stoadb/stoa/bench"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/rpc"
)

// home is the key of the row.
var home = keys.Alias{Kind: keys.AliasContext, Name: keys.Name{'h', 'o', 'm', 'e'}}

// a turn is what a client prints: the time and the CPU of its calls.
type turn struct {
	P50 float64 `json:"p50_us"`
	CPU float64 `json:"cpu_us"`
}

// clients are the commands that measure. They get the socket, the key in hex, and how many calls.
var clients = []struct {
	name    string
	command []string
}{
	{"Go", nil}, // this program
	{"Rust, a runtime of one thread", []string{"bin/clients/rust/get", "one"}},
	{"Rust, a runtime of many", []string{"bin/clients/rust/get", "many"}},
	{"Python", []string{"bin/clients/python/bin/python", "rpc/clients/python/bench/get.py", "blocking"}},
	{"Python, asyncio", []string{"bin/clients/python/bin/python", "rpc/clients/python/bench/get.py", "asyncio"}},
	{"TypeScript, gRPC", []string{"node", "bin/clients/typescript/dist/bench/get.js"}},
	{"Go, gRPC", nil},
}

func main() {
	rounds := flag.Int("rounds", 5, "how many turns each has")
	calls := flag.Int("calls", 20_000, "how many calls a turn has")
	stoa := flag.String("stoa", "bin/stoa", "the stoa binary")
	measure := flag.String("measure", "", "measure the Go client at this socket")
	framing := flag.Int("framing", int(rpc.FramingFrames), "the framing of -measure")
	flag.Parse()
	var err error
	if *measure != "" {
		err = get(*measure, rpc.Framing(*framing), *calls)
	} else {
		err = run(*stoa, *rounds, *calls)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "clients:", err)
		os.Exit(1)
	}
}

func run(stoa string, rounds, calls int) (err error) {
	dir, err := os.MkdirTemp("", "stoa-clients-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	socket := filepath.Join(dir, "stoa.sock")
	_, stop, err := bench.StartServer(func(ctx context.Context) error { return put(ctx, socket) }, stoa, "serve", "--engine", "mem", "--dir", dir, "--socket", socket)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	turns := make([][]turn, len(clients))
	for range rounds {
		for i := range clients {
			t, err := measured(i, socket, calls)
			if err != nil {
				return fmt.Errorf("%s: %w", clients[i].name, err)
			}
			turns[i] = append(turns[i], t)
		}
	}
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "a get of one row by\tp50 us\tof Go's\tCPU us\tof Go's")
	for i, c := range clients {
		var p50, ofP50, cpu, ofCPU []float64
		for round, t := range turns[i] {
			goes := turns[0][round] // the machine had the same other work for it
			p50, ofP50 = append(p50, t.P50), append(ofP50, t.P50/goes.P50)
			cpu, ofCPU = append(cpu, t.CPU), append(ofCPU, t.CPU/goes.CPU)
		}
		fmt.Fprintf(out, "%s\t%.1f\t%.2f\t%.1f\t%.2f\n", c.name, median(p50), median(ofP50), median(cpu), median(ofCPU))
	}
	return out.Flush()
}

func median(of []float64) float64 {
	slices.Sort(of)
	return of[len(of)/2]
}

func measured(i int, socket string, calls int) (t turn, err error) {
	key, err := home.AppendBinary(nil)
	if err != nil {
		return t, err
	}
	command := append(slices.Clone(clients[i].command), socket, hex.EncodeToString(key), strconv.Itoa(calls))
	if clients[i].command == nil {
		framing := rpc.FramingFrames
		if strings.HasSuffix(clients[i].name, "gRPC") {
			framing = rpc.FramingGRPC
		}
		command = []string{os.Args[0], "-measure", socket, "-calls", strconv.Itoa(calls), "-framing", strconv.Itoa(int(framing))}
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return t, err
	}
	return t, json.Unmarshal(out, &t)
}

func put(ctx context.Context, socket string) error {
	c, err := rpc.Dial(ctx, socket)
	if err != nil {
		return err
	}
	defer c.Close()
	var b engine.Batch
	engine.Put(&b, home, codec.AliasValue{})
	return c.Store(ctx).Apply(&b)
}

// get measures the Go client.
func get(socket string, framing rpc.Framing, calls int) error {
	c, err := rpc.Dial(context.Background(), socket, rpc.WithFraming(framing))
	if err != nil {
		return err
	}
	defer c.Close()
	store := c.Store(context.Background())
	key, err := home.AppendBinary(nil)
	if err != nil {
		return err
	}
	times := make([]time.Duration, calls)
	for range calls / 10 {
		if _, err := store.Get(nil, column.Alias, key); err != nil {
			return err
		}
	}
	before := bench.CPU(unix.RUSAGE_SELF)
	for i := range times {
		begun := time.Now()
		if _, err := store.Get(nil, column.Alias, key); err != nil {
			return err
		}
		times[i] = time.Since(begun)
	}
	used := bench.CPU(unix.RUSAGE_SELF) - before
	slices.Sort(times)
	return json.NewEncoder(os.Stdout).Encode(turn{P50: micros(times[calls/2]), CPU: micros(used) / float64(calls)})
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
