// Command run runs a cluster for tests until it is interrupted: `make tikv-cluster`.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/stoadb/stoa/fuzz/cluster"
)

func main() {
	bin := flag.String("bin", "bin/tikv-cluster", "the folder with pd-server and unistore-server")
	dir := flag.String("dir", "", "where the cluster keeps what it has; empty: a folder that goes with it")
	stores := flag.Int("stores", 3, "how many stores")
	flag.Parse()
	ctx, forget := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer forget()
	if err := run(ctx, *bin, *dir, *stores); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, bin, dir string, stores int) error {
	if dir == "" {
		scratch, err := os.MkdirTemp("", "cluster")
		if err != nil {
			return err
		}
		defer os.RemoveAll(scratch)
		dir = scratch
	}
	c, err := cluster.Start(ctx, bin, dir, stores)
	if err != nil {
		return err
	}
	defer c.Close()
	fmt.Printf("PD is at %s, with %d stores; what they say is in %s\n", c.Address(), stores, dir)
	fmt.Printf("serve:  bin/stoa-tikv serve --engine tikv --tikv-two-phase --pd %s\n", c.Address())
	fmt.Printf("test:   STOA_TIKV_TWO_PHASE=1 STOA_TIKV_PD=%s make test-tikv\n", c.Address())
	fmt.Println("Interrupt to end it.")
	<-ctx.Done()
	return nil
}
