package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"syscall"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/blob"
	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/rpc/server"
	"github.com/stoadb/stoa/rpc/server/socket"
)

func newServe(p *cli.Process) *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the daemon",
		Long: `Run the daemon: open a directory, and serve it over a Unix socket until SIGTERM or
Ctrl-C. Calls under way finish then, and everything is put into tables; a second
signal ends the daemon at once, which loses nothing that was acknowledged.

Each flag may be set in the environment (--cache-size is STOA_CACHE_SIZE) or in a
TOML file that --config names (cache-size = "1GiB"); the command line goes before
the environment, and that before the file. GOGC and GOMEMLIMIT are those of Go;
they are 400 and 1GiB unless set, which is without the caches of RocksDB.`,
		Example: `  stoa serve
  stoa serve --dir /var/lib/stoa --socket /run/stoa/stoa.sock --group stoa
  STOA_LOG_LEVEL=debug stoa serve --config /etc/stoa.toml
  stoa serve --engine mem --dir /tmp/try`,
		Args: cli.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			set, err := configure(p, cmd.Flags())
			if err == nil {
				err = serve(p, cmd, &f)
			}
			return set.explain(err)
		},
	}
	f.register(cmd)
	if f.more = p.Engine; f.more != nil {
		f.more.Flags(cmd.Flags())
	}
	return cmd
}

// serve runs the daemon with flags that are all set.
func serve(p *cli.Process, cmd *cobra.Command, f *serveFlags) error {
	s, err := f.settings()
	if err != nil {
		return err
	}
	if s.sealKey, err = f.seal.Key(p.Credentials()); err != nil {
		return err
	}
	if p.JSON && !cmd.Flags().Changed("log-format") {
		s.logFormat = "json"
	}
	log, err := newLogger(p.Stderr, s.logLevel, s.logFormat)
	if err != nil {
		return cli.Bad(err, "")
	}
	syscall.Umask(0o077) // all files are for the daemon's user alone
	s.shared = tuneGo(p)
	return s.serve(p.Ctx, log)
}

// tuneGo lets the heap grow further between collections than Go does by itself: most memory of
// a daemon is RocksDB's, which Go does not see, and its own heap is small. What it returns is to
// be called when users share the daemon: Go code runs on twice as many threads as there are
// processors then. Go lets a goroutine go on for 10 ms where another waits; the kernel wakes a
// thread that has taken little at once. It costs some percent of every call.
func tuneGo(p *cli.Process) (shared func()) {
	if p.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	if p.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(1 << 30)
	}
	if p.Getenv("GOMAXPROCS") != "" {
		return nil
	}
	return func() { runtime.GOMAXPROCS(2 * runtime.GOMAXPROCS(0)) }
}

// serve runs the daemon until a signal, or until ctx is done. It returns nil after a clean shutdown.
func (s *settings) serve(ctx context.Context, log *slog.Logger) error {
	ctx, forget := untilSignal(ctx, log)
	defer forget()
	log.Info("stoa starts", "version", cli.BuildVersion().Version, "pid", os.Getpid(), "dir", s.dir, "engine", s.engine)
	activated, err := s.sockets()
	if err != nil {
		return cli.CannotOpen(err)
	}
	var st *store
	if s.led() {
		st, err = s.lead(ctx, activated != nil, log)
	} else {
		st, err = openUntil(ctx, s.dir, func() (*store, error) { return s.open(log) })
	}
	if st == nil {
		return err
	}
	ctx, forgetLead := whileLeading(ctx, st.leadLost)
	defer forgetLead()
	err = s.serveStore(ctx, st, activated, log)
	if closing := st.Close(); closing != nil {
		return errors.Join(err, cli.Fail(cli.ExitOpen, fmt.Errorf("the shutdown was not clean: %w", closing),
			"what was acknowledged is in the write-ahead log of the directory that was opened, and is read from there at the next start"))
	}
	if err == nil && errors.Is(context.Cause(ctx), errLead) {
		return cli.Fail(cli.ExitOpen, errLead, "nothing of what was acknowledged is lost; start this daemon again, and it waits for its turn")
	}
	if err == nil {
		log.Info("clean shutdown", "dir", s.dir)
	}
	return err
}

// openUntil opens the store in dir, which may take as long as its log is. A signal
// breaks that off, and the process has to end then, as by a kill, which loses nothing.
func openUntil(ctx context.Context, dir string, open func() (*store, error)) (*store, error) {
	var st *store
	var err error
	opened := make(chan struct{})
	go func() {
		defer close(opened)
		st, err = open()
	}()
	select {
	case <-opened:
		return st, err
	case <-ctx.Done():
	}
	select {
	case <-opened: // both at once
		return st, err
	default:
	}
	return nil, cli.Fail(128+int(stoppedBy(ctx)), fmt.Errorf("stopped while %s was being opened", dir),
		"nothing is lost: what was acknowledged is read from the write-ahead log at the next start")
}

// sockets returns the socket that systemd passed, or nil. It fails if those that are
// to be made can't be: a directory is not made for a daemon that can't serve it.
func (s *settings) sockets() (activated net.Listener, err error) {
	if activated, err = socket.Activated(); err != nil {
		return nil, err
	}
	if activated == nil {
		err = socket.Free(s.socket)
	}
	if err == nil && s.metricsSocket != "" {
		if err = socket.Free(s.metricsSocket); err != nil {
			err = fmt.Errorf("--metrics-socket: %w", err)
		}
	}
	return activated, err
}

// serveStore serves an open store until ctx is done, on the socket that systemd
// passed, unless that is nil.
func (s *settings) serveStore(ctx context.Context, st *store, activated net.Listener, log *slog.Logger) (err error) {
	contexts, err := dag.Open(st, s.dag(st.node, log))
	if err != nil {
		return cli.CannotOpen(err)
	}
	defer func() { err = errors.Join(err, contexts.Close()) }()
	namespaces, err := namespace.Open(st, namespace.Options{Log: log})
	if err != nil {
		return cli.CannotOpen(err)
	}
	defer func() { err = errors.Join(err, namespaces.Close()) }()
	if err := namespaces.Refold(ctx); err != nil {
		log.Error("namespaces whose rows were made by other rules", "error", err)
	}
	blobs, err := blob.Open(st, blob.Options{SpoolDir: filepath.Join(s.dir, cli.SpoolName), MinFreeBytes: s.keepFree(), Logger: log})
	if err != nil {
		return cli.CannotOpen(err)
	}
	defer func() { err = errors.Join(err, blobs.Close()) }()
	capable, err := openCapabilities(st, capabilityOptions{storage: s.storage, off: s.jobsOff, blobs: blobs, log: log})
	if err != nil {
		return cli.CannotOpen(err)
	}
	defer func() { err = errors.Join(err, capable.Close()) }()
	o := server.Options{
		Dag: contexts, Namespaces: namespaces, Raw: s.raw, Peers: s.rights,
		Info: st.info, DrainTimeout: s.drainTimeout, SlowCall: s.slowCall, Logger: log, CheckpointDir: s.checkpointDir,
		MaxInFlight: int64(s.requestMemory), MaxConnectionBytes: int64(s.connectionMemory), MaxConnections: s.maxConnections, Parts: s.shares, Shared: s.shared,
		Blobs: blobs, Refuse: st.refuse, SharedRows: st.sharedRows,
	}
	if s.sharedRows > 0 {
		o.MaxSharedPages = sharedPages
	}
	capable.served(&o)
	stopMetrics := func() {}
	if st.refuse == nil {
		if stopMetrics, err = s.serveMetrics(&o, log); err != nil {
			return err
		}
	}
	defer stopMetrics()
	srv, err := server.New(st, o)
	if err != nil {
		return cli.CannotOpen(err)
	}
	ln, err := s.listen(activated, log)
	if err != nil {
		return err
	}
	if st.refuse == nil {
		s.announce(st, ln, log)
	}
	return srv.Serve(ctx, ln)
}

// listen returns the socket that systemd passed, or makes one.
func (s *settings) listen(activated net.Listener, log *slog.Logger) (net.Listener, error) {
	if activated != nil {
		log.Info("systemd has made the socket: --socket, --mode and the owner of --group are its own")
		return activated, nil
	}
	ln, err := socket.Listen(s.socket, socket.Options{Mode: s.mode, Group: s.group})
	if err != nil {
		return nil, cli.CannotOpen(err)
	}
	if err := socket.Exposed(s.socket); err != nil {
		log.Warn("somebody else may put a socket in the place of this one, which clients notice by who serves them", "error", err)
	}
	return ln, nil
}

// announce says what is served, where, in which state it was found, and how to
// stop it.
func (s *settings) announce(st *store, ln net.Listener, log *slog.Logger) {
	level := slog.LevelInfo
	if st.lastClose == "unclean" {
		level = slog.LevelWarn
	}
	log.Log(context.Background(), level, "serving", "dir", s.dir, "engine", st.info.Engine, "schema", st.info.SchemaVersion,
		"node_id", st.info.NodeID, "socket", ln.Addr().String(), "last_close", st.lastClose, "lost", st.lost)
	if len(s.jobsOff) > 0 {
		log.Info("jobs of these queues are left to workers outside", "queues", s.jobsOff)
	}
	log.Info("stop with Ctrl-C, or kill -TERM "+fmt.Sprint(os.Getpid()), "pid", os.Getpid())
}

// serveMetrics serves metrics on their own socket, if there is to be one.
func (s *settings) serveMetrics(o *server.Options, log *slog.Logger) (stop func(), err error) {
	if s.metricsSocket == "" {
		return func() {}, nil
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	o.Registry = registry
	ln, err := socket.Listen(s.metricsSocket, socket.Options{})
	if err != nil {
		return nil, cli.CannotOpen(fmt.Errorf("--metrics-socket: %w", err))
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.ServeMetrics(ctx, ln, registry); err != nil {
			log.Error("metrics are not served any more", "error", err)
		}
	}()
	log.Info("metrics", "socket", s.metricsSocket)
	return func() {
		cancel()
		<-done
	}, nil
}

// untilSignal returns a context that ctx ends, and the first SIGINT or SIGTERM. The
// second ends the process. forget stops listening to them.
func untilSignal(parent context.Context, log *slog.Logger) (ctx context.Context, forget func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		select {
		case <-done:
			return
		case got := <-signals:
			log.Info("stopping; a second signal stops at once", "signal", got.String())
			cancel(stopped{got})
		}
		select {
		case <-done:
		case got := <-signals:
			log.Error("stopped at once, without a clean shutdown", "signal", got.String())
			os.Exit(128 + int(number(got)))
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel(nil)
	}
}

// stopped is the cause of a context that a signal has ended.
type stopped struct{ by os.Signal }

func (s stopped) Error() string { return "stopped by signal: " + s.by.String() }

// stoppedBy returns the signal that has ended ctx; 0: none has.
func stoppedBy(ctx context.Context) syscall.Signal {
	var s stopped
	if !errors.As(context.Cause(ctx), &s) {
		return 0
	}
	return number(s.by)
}

// number returns which signal s is: all that are asked for are of this type.
func number(s os.Signal) syscall.Signal {
	n, _ := s.(syscall.Signal)
	return n
}
