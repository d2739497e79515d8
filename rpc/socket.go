package rpc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/stoadb/stoa/rpc/internal/peercred"
	"github.com/stoadb/stoa/rpc/internal/socketpath"
)

// probe returns nil if something listens at path that one of users serves, this user or root.
func probe(ctx context.Context, path string, users []uint32) error {
	if err := socketpath.Check(path); err != nil {
		return err
	}
	conn, err := peercred.Dial(ctx, path, users)
	switch {
	case err == nil:
		return conn.Close()
	case errors.Is(err, ErrStranger):
		return err
	}
	return noDaemon(path, err)
}

func noDaemon(path string, err error) error {
	why := err.Error()
	switch {
	case errors.Is(err, os.ErrNotExist):
		why = "no such file"
	case errors.Is(err, syscall.ECONNREFUSED):
		why = "the file is there, but nothing listens"
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("%w: no permission to connect to %s: its directory and its mode say who has (stoa serve --group)", ErrRefused, path)
	case errors.Is(err, syscall.ENOTSOCK), errors.Is(err, syscall.EPROTOTYPE):
		why = "it is not a socket"
	}
	return fmt.Errorf("%w at %s: %s", ErrNoDaemon, path, why)
}
