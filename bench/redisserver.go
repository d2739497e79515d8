package bench

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/redis/go-redis/v9"
)

// RedisServer is a redis-server of a subject, on a Unix socket in a directory of its own.
type RedisServer struct {
	process *process
	socket  string
}

// StartRedis starts a redis-server that takes no snapshots, with these arguments besides. It
// returns nil where none is installed, and has said so.
func StartRedis(o Options, args ...string) (*RedisServer, error) {
	server, err := exec.LookPath("redis-server")
	if err != nil {
		o.Logger.Warn("redis-server is not installed: it is not measured")
		return nil, nil
	}
	dir, err := os.MkdirTemp(o.Dir, "redis")
	if err != nil {
		return nil, err
	}
	s := &RedisServer{socket: filepath.Join(dir, "s")}
	db := s.Dial()
	defer db.Close()
	args = append([]string{"--port", "0", "--unixsocket", s.socket, "--save", "", "--dir", dir}, args...)
	s.process, err = start(func(ctx context.Context) error { return db.Ping(ctx).Err() }, server, args...)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Dial returns a client of one connection.
func (s *RedisServer) Dial() *redis.Client {
	return redis.NewClient(&redis.Options{Network: "unix", Addr: s.socket, PoolSize: 1, DisableIdentity: true})
}

// CPU returns the CPU time that the server has used.
func (s *RedisServer) CPU() (time.Duration, error) { return s.process.cpu() }

// Stop ends the server.
func (s *RedisServer) Stop() error { return s.process.stop() }
