package tikv

import (
	"context"
	"errors"
	"fmt"

	tikverr "github.com/tikv/client-go/v2/error"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/stoadb/stoa/engine"
)

// fault returns an error of the cluster in our terms.
func (e *Engine) fault(err error) error {
	var collected *tikverr.ErrGCTooEarly
	switch {
	case err == nil:
		return nil
	case tikverr.IsErrNotFound(err):
		return engine.ErrNotFound
	case e.ctx.Err() != nil:
		return engine.ErrClosed
	case isTooLarge(err):
		return fmt.Errorf("%w: %w", engine.ErrTooLarge, err)
	case errors.As(err, &collected):
		return fmt.Errorf("%w: what it reads is no longer kept: %w", engine.ErrClosed, err)
	case errors.Is(err, tikverr.ErrTiKVDiskFull):
		return fmt.Errorf("%w: %w", engine.ErrNoSpace, err)
	case tikverr.IsErrorUndetermined(err):
		return fmt.Errorf("%w: %w", engine.ErrUndetermined, err)
	case isAway(err):
		return fmt.Errorf("%w: %w", engine.ErrUnavailable, err)
	}
	return fmt.Errorf("tikv: %w", err)
}

// isTooLarge reports whether an error says that a transaction is larger than client-go sends: none of it was sent.
func isTooLarge(err error) bool {
	var entry *tikverr.ErrEntryTooLarge
	var txn *tikverr.ErrTxnTooLarge
	return errors.As(err, &entry) || errors.As(err, &txn)
}

// inTime returns an error of a call that ctx ends: if it has, the cluster did not answer in time, whatever the
// client says that it waited for.
func inTime(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && !tikverr.IsErrorUndetermined(err) {
		return errors.Join(ctx.Err(), err)
	}
	return err
}

// isAway reports whether an error says that PD or a store does not answer, or that a region has no leader for
// the moment, after all the patience that the client has.
func isAway(err error) bool {
	var pd *tikverr.ErrPDServerTimeout
	if errors.As(err, &pd) {
		return true
	}
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded:
		return true
	}
	for _, away := range []error{
		context.DeadlineExceeded, tikverr.ErrTiKVServerTimeout, tikverr.ErrTiKVServerBusy, tikverr.ErrTiKVStaleCommand,
		tikverr.ErrTiKVMaxTimestampNotSynced, tikverr.ErrResolveLockTimeout, tikverr.ErrLockWaitTimeout,
		tikverr.ErrRegionUnavailable, tikverr.ErrRegionDataNotReady, tikverr.ErrRegionNotInitialized,
		tikverr.ErrRegionRecoveryInProgress, tikverr.ErrRegionFlashbackInProgress,
	} {
		if errors.Is(err, away) {
			return true
		}
	}
	return false
}
