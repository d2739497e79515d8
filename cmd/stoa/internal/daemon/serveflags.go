package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine/rocks"
	"github.com/stoadb/stoa/engine/seal"
	"github.com/stoadb/stoa/kv/job"
	"github.com/stoadb/stoa/kv/kvstorage"
	"github.com/stoadb/stoa/rpc/access"
)

// serveFlags are the flags of serve. Each may also stand in the environment or
// in a file; see configure.
type serveFlags struct {
	config                              string
	dir, socket, engine                 string
	mode, group                         string
	allowPeers, secretPeers             []string
	tenantMap, jobsOff                  []string
	peers                               []string
	checkpointDir                       string
	requestMemory                       cli.Size
	connectionMemory                    cli.Size
	maxConnections, shares              int
	cacheSize, rowCacheSize, sharedRows cli.Size
	maxWAL, minFree                     cli.Size
	acceptLoss, raw                     bool
	dropEmpty                           bool
	metricsSocket                       string
	logLevel, logFormat                 string
	drainTimeout, baseAge               time.Duration
	slowCall                            time.Duration
	seal                                cli.SealFlags
	kv                                  kvServeFlags
	more                                *cli.Engine // what --engine may be besides engines; nil: nothing
}

// leastSize is the least that a cache or the write-ahead log may have.
const leastSize = 1 << 20

// sharedPages is how many connections may have memory for pages of long scans, of 2.3 MiB each.
const sharedPages = 64

// engines are what --engine takes.
var engines = []string{"rocks", "mem"}

func (f *serveFlags) register(cmd *cobra.Command) {
	f.cacheSize, f.rowCacheSize, f.sharedRows, f.maxWAL, f.minFree = 256<<20, 64<<20, 64<<20, 256<<20, 256<<20
	f.requestMemory, f.connectionMemory = 256<<20, 8<<20
	fs := cmd.Flags()
	fs.StringVar(&f.config, "config", "", "a TOML file with settings, named as these flags")
	fs.StringVar(&f.dir, "dir", cli.DefaultDir, "where the data lies; it is made if it is not there")
	fs.StringVar(&f.socket, "socket", "", "the path of the socket (default "+cli.SocketName+" in the directory)")
	fs.StringVar(&f.engine, "engine", "rocks", "rocks, or mem, which forgets everything when it stops")
	fs.StringVar(&f.mode, "mode", "", "permissions of the socket in octal (default 0600, with --group 0660)")
	fs.StringVar(&f.group, "group", "", "the group of the socket, whose members may connect")
	fs.StringArrayVar(&f.peers, "peer", nil, "USER=ROLES or group:GROUP=ROLES: who may connect, and do what; ROLES are reader, writer, signer, secrets, operator, all, or tenant:NAME, with commas between them (repeatable)")
	fs.StringSliceVar(&f.allowPeers, "allow-peers", nil, "users who may connect, as reader and writer (default: this one and root, who may do everything; \"\": none)")
	fs.StringSliceVar(&f.secretPeers, "secret-peers", nil, "users of --allow-peers who are secrets and signer too (default: this one and root; \"\": none)")
	fs.StringArrayVar(&f.tenantMap, "tenant-map", nil, "USER=TENANT, the same as --peer USER=tenant:TENANT (repeatable)")
	fs.StringVar(&f.checkpointDir, "checkpoint-dir", "", "a directory below which alone copies are made (default: in any that belongs to the daemon's user)")
	fs.Var(&f.requestMemory, "request-memory", "what requests under way may take, and answers that wait as much, of all users")
	fs.Var(&f.connectionMemory, "connection-memory", "what one connection may take of it, and the largest message, unless its user may do everything")
	fs.IntVar(&f.maxConnections, "max-connections", 4096, "how many connections there may be")
	fs.IntVar(&f.shares, "shares", 4, "into how many parts everything is divided that has a limit, of which a user gets one while others want some")
	fs.Var(&f.cacheSize, "cache-size", "the block cache that all columns share")
	fs.Var(&f.rowCacheSize, "row-cache-size", "the cache of single rows that are read often, beside it; 0: none")
	fs.Var(&f.sharedRows, "shared-rows", "another, on Linux, that users who may read everything read without a call, of all but secrets and what tenants have; 0: none, and no long scans by memory either")
	fs.Var(&f.maxWAL, "max-wal", "the write-ahead log from which on memory is written to tables")
	fs.Var(&f.minFree, "min-free", "free disk space below which writes are refused; 0: none is kept")
	fs.BoolVar(&f.acceptLoss, "accept-loss", false, "serve a store that has lost writes which were on disk, or what says which version may write it")
	fs.BoolVar(&f.dropEmpty, "drop-empty-families", false, "drop column families that stoa does not know and that have no rows, as a merod leaves them that has opened the directory")
	fs.BoolVar(&f.raw, "raw", false, "let clients write rows that a service keeps, such as State: for repair and tests")
	fs.StringVar(&f.metricsSocket, "metrics-socket", "", "a second socket with Prometheus metrics and pprof (default off)")
	fs.StringVar(&f.logLevel, "log-level", "info", "debug, info, warn or error")
	fs.StringVar(&f.logFormat, "log-format", "auto", "text, json, or auto: text on a terminal, else json")
	f.seal.Register(fs)
	f.kv.register(fs)
	fs.StringSliceVar(&f.jobsOff, "job-workers-off", nil, "queues whose jobs this daemon leaves to workers outside: "+strings.Join(job.QueueNames(), ", "))
	fs.DurationVar(&f.slowCall, "slow-call", time.Second, "how long a call takes that is said in the log, with its cause; 0: none is")
	fs.DurationVar(&f.drainTimeout, "drain-timeout", 30*time.Second, "how long calls under way may take when the daemon stops")
	fs.DurationVar(&f.baseAge, "base-age", 10*time.Minute, "how old a delta is at least that snapshots of a context are based on; 0: of any age")
	for flag, words := range map[string][]string{"engine": engines, "log-level": logLevels, "log-format": logFormats} {
		_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)) // fails only for a flag that is not there
	}
}

// settings are the flags, checked and with their defaults.
type settings struct {
	serveFlags
	mode    fs.FileMode // 0: the default
	gids    []uint32    // of --group
	rights  *access.Table
	sealKey seal.Key // the zero Key: none
	shared  func()   // when users share the daemon
	storage kvstorage.Options
}

func (f *serveFlags) settings() (s settings, err error) {
	s.serveFlags = *f
	known := slices.Clone(engines)
	if f.more != nil {
		known = append(known, f.more.Name)
	}
	if !slices.Contains(known, f.engine) {
		return s, cli.Bad(fmt.Errorf("--engine: %q is none of %v", f.engine, known), "")
	}
	if f.drainTimeout <= 0 {
		return s, cli.Bad(fmt.Errorf("--drain-timeout: %s is not more than 0", f.drainTimeout), "")
	}
	for _, queue := range f.jobsOff {
		if !slices.Contains(job.QueueNames(), queue) {
			return s, cli.Bad(fmt.Errorf("--job-workers-off: %q is none of %s", queue, strings.Join(job.QueueNames(), ", ")), "")
		}
	}
	if f.slowCall < 0 {
		return s, cli.Bad(fmt.Errorf("--slow-call: %s is less than 0", f.slowCall), "")
	}
	if f.baseAge < 0 {
		return s, cli.Bad(fmt.Errorf("--base-age: %s is less than 0", f.baseAge), "")
	}
	for flag, bytes := range map[string]cli.Size{"cache-size": f.cacheSize, "row-cache-size": f.rowCacheSize, "shared-rows": f.sharedRows, "max-wal": f.maxWAL, "request-memory": f.requestMemory, "connection-memory": f.connectionMemory} {
		if bytes != 0 && bytes < leastSize {
			return s, cli.Bad(fmt.Errorf("--%s: %s is less than %s", flag, cli.SizeText(uint64(bytes)), cli.SizeText(leastSize)), "")
		}
	}
	if f.maxConnections < 1 || f.shares < 1 {
		return s, cli.Bad(errors.New("--max-connections and --shares: at least 1"), "")
	}
	if f.connectionMemory > f.requestMemory {
		return s, cli.Bad(fmt.Errorf("--connection-memory: %s is more than --request-memory, %s", cli.SizeText(uint64(f.connectionMemory)), cli.SizeText(uint64(f.requestMemory))), "")
	}
	if s.checkpointDir != "" {
		if s.checkpointDir, err = filepath.Abs(s.checkpointDir); err != nil {
			return s, cli.Bad(fmt.Errorf("--checkpoint-dir: %w", err), "")
		}
	}
	if s.dir == "" {
		s.dir = cli.DefaultDir
	}
	if s.dir, err = filepath.Abs(s.dir); err != nil {
		return s, cli.Bad(fmt.Errorf("--dir: %w", err), "")
	}
	if s.socket == "" {
		s.socket = filepath.Join(s.dir, cli.SocketName)
	}
	if s.storage, err = f.kv.options(); err != nil {
		return s, err
	}
	if err := s.setPermissions(); err != nil {
		return s, err
	}
	s.rights, err = s.table()
	return s, err
}

// setPermissions reads --mode and --group.
func (s *settings) setPermissions() (err error) {
	if s.group != "" {
		gid, err := parseGroup("group", s.group)
		if err != nil {
			return err
		}
		s.gids = []uint32{gid}
	}
	if s.serveFlags.mode != "" {
		s.mode, err = parseMode("mode", s.serveFlags.mode)
	}
	return err
}

func (s *settings) rocks(log *slog.Logger) rocks.Options {
	return rocks.Options{
		AcceptLoss: s.acceptLoss, DropEmptyFamilies: s.dropEmpty, CacheBytes: int64(s.cacheSize), RowCacheBytes: int64(s.rowCacheSize), SharedRowBytes: int64(s.sharedRows), MaxWALBytes: int64(s.maxWAL),
		MinFreeBytes: s.keepFree(), Logger: log,
	}
}

// dag are the options of the contexts. An age of 0 is negative there: 0 is the
// default.
func (s *settings) dag(node codec.NodeID, log *slog.Logger) dag.Options {
	o := dag.Options{Node: node, Log: log, BaseAge: s.baseAge}
	if o.BaseAge == 0 {
		o.BaseAge = -1
	}
	return o
}

// keepFree returns the free space to keep as options have it, where negative is
// none.
func (s *settings) keepFree() int64 {
	if s.minFree == 0 {
		return -1
	}
	return int64(s.minFree)
}
