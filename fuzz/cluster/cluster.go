// Package cluster runs a cluster of TiKV's kind on this machine: PD, the real one, and stores that
// speak TiKV's protocol and replicate by Raft (unistore, by TiDB's authors), as processes that
// listen on loopback. It is for tests: what people deploy is TiKV itself.
//
// The two programs are built by `make tikv-cluster`, which also runs a cluster (package run).
package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/stoadb/stoa/engine/enginetest"
)

// Cluster is a PD server and stores. Its methods are for one goroutine.
type Cluster struct {
	dir   string
	all   []*process // PD, then the stores
	pdURL string
}

// process is a program of the cluster: it may be killed, and started again with what it has on disk.
type process struct {
	name   string
	config string
	dir    string
	path   string
	args   []string
	cmd    *exec.Cmd     // nil: it was never started
	over   chan struct{} // closed when it has ended
}

// PD is the name of the PD server; stores have those of Stores.
const PD = "pd"

// Start starts a cluster of so many stores in a directory, of the programs in bin, and returns
// when it is ready. A region has 3 replicas.
func Start(ctx context.Context, bin, dir string, stores int) (*Cluster, error) {
	bin, err := filepath.Abs(bin) // the programs run in folders of their own
	if err != nil {
		return nil, err
	}
	ports, err := free(2 + 2*stores)
	if err != nil {
		return nil, err
	}
	c := &Cluster{dir: dir, pdURL: "http://" + ports[0]}
	c.add(PD, pdConfig, filepath.Join(bin, "pd-server"), "-config", "config.toml", "-name", PD, "-data-dir", "data", "-log-file", "log",
		"-client-urls", c.pdURL, "-peer-urls", "http://"+ports[1])
	for i := range stores {
		c.add(fmt.Sprint("store", i+1), storeConfig, filepath.Join(bin, "unistore-server"), "-config", "config.toml",
			"-pd", ports[0], "-addr", ports[2+2*i], "-status-addr", ports[3+2*i], "-data-dir", "data", "-log-file", "log")
	}
	for _, p := range c.all {
		if err = errors.Join(err, p.lay()); err == nil {
			err = p.start()
		}
	}
	if err == nil {
		err = c.Ready(ctx)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// free returns addresses on loopback that nobody listens on.
func free(n int) (addresses []string, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		addresses = append(addresses, l.Addr().String())
	}
	return addresses, nil
}

func (c *Cluster) add(name, config, path string, args ...string) *process {
	p := &process{name: name, config: config, dir: filepath.Join(c.dir, name), path: path, args: args}
	c.all = append(c.all, p)
	return p
}

// pdConfig has PD leave replicas where they are: there are as many stores as replicas, and unistore
// does not always survive moving one.
const pdConfig = `[schedule]
merge-schedule-limit = 0
region-schedule-limit = 0
hot-region-schedule-limit = 0
`

// storeConfig has a store elect a leader within a second or two, and write each change to disk before it
// says that it has it.
const storeConfig = `[server]
raft = true

[raftstore]
raft-base-tick-interval = "100ms"
raft-heartbeat-ticks = 2
raft-election-timeout-ticks = 10
raft-store-max-leader-lease = "900ms"
pd-heartbeat-tick-interval = "1s"

[engine]
sync-write = true
`

// lay makes the directory of a process.
func (p *process) lay() error {
	if err := os.MkdirAll(filepath.Join(p.dir, "data"), 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(p.dir, "config.toml"), []byte(p.config), 0o600)
}

// start starts a process that does not run. It ends with this one.
func (p *process) start() error {
	out, err := os.OpenFile(filepath.Join(p.dir, "out"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	p.cmd = enginetest.EndWithParent(exec.Command(p.path, p.args...))
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = p.dir, out, out
	p.cmd.Env = append(os.Environ(), "NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1")
	if err := p.cmd.Start(); err != nil {
		p.cmd = nil
		return err
	}
	p.over = make(chan struct{})
	go func() {
		defer close(p.over)
		_ = p.cmd.Wait() // how it ended is in what it has said
	}()
	return nil
}

// ended says what a process that has ended by itself said; nil: it runs.
func (p *process) ended() error {
	select {
	case <-p.over:
		said, err := os.ReadFile(filepath.Join(p.dir, "out"))
		return errors.Join(fmt.Errorf("cluster: %s has ended: %s", p.name, said[:min(len(said), 1000)]), err)
	default:
		return nil
	}
}

// kill ends a process as kill -9 does.
func (p *process) kill() {
	if p.cmd == nil {
		return
	}
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.over
}

// Ready waits until every region has a leader, and a replica on every store.
func (c *Cluster) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{}} // by no proxy
	defer client.CloseIdleConnections()
	for {
		err := health(ctx, client, c.pdURL, len(c.all)-1)
		if err == nil {
			return nil
		}
		for _, p := range c.all {
			if err := p.ended(); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("cluster: %w; logs are in %s", errors.Join(err, ctx.Err()), c.dir)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Address is that of PD, HOST:PORT.
func (c *Cluster) Address() string { return c.pdURL[len("http://"):] }

// Stores are the names of the stores.
func (c *Cluster) Stores() (names []string) {
	for _, p := range c.all[1:] {
		names = append(names, p.name)
	}
	return names
}

// Kill ends PD or a store as kill -9 does.
func (c *Cluster) Kill(name string) error {
	p, err := c.named(name)
	if err != nil {
		return err
	}
	p.kill()
	return nil
}

// Restart starts PD or a store that was killed, with what it has on disk.
func (c *Cluster) Restart(name string) error {
	p, err := c.named(name)
	if err != nil {
		return err
	}
	return p.start()
}

func (c *Cluster) named(name string) (*process, error) {
	for _, p := range c.all {
		if p.name == name {
			return p, nil
		}
	}
	return nil, fmt.Errorf("cluster: there is no %q", name)
}

// Close kills all that runs. The directory stays.
func (c *Cluster) Close() {
	for _, p := range c.all {
		p.kill()
	}
}
