package tikv

import (
	"context"
	"fmt"
	"time"

	"github.com/tikv/client-go/v2/oracle"
)

// A cluster keeps every version of a row until it is told up to which timestamp nobody reads any more,
// the safe point. PD takes from each service how far back that still reads, and answers the least.
// Every engine says it of its snapshots and iterators, and moves the safe point, as TiDB does.

const (
	collectEvery = time.Minute
	heldFor      = 5 * time.Minute // how long PD keeps in mind what a service has said
)

// hold keeps what is read at a timestamp from being collected, until it is released.
func (e *Engine) hold(ts uint64) {
	e.heldMu.Lock()
	defer e.heldMu.Unlock()
	e.held[ts]++
}

func (e *Engine) release(ts uint64) {
	e.heldMu.Lock()
	defer e.heldMu.Unlock()
	if e.held[ts]--; e.held[ts] == 0 {
		delete(e.held, ts)
	}
}

// oldest returns the least of a timestamp and those that are held.
func (e *Engine) oldest(ts uint64) uint64 {
	e.heldMu.Lock()
	defer e.heldMu.Unlock()
	for held := range e.held {
		ts = min(ts, held)
	}
	return ts
}

// collecting moves the safe point until the engine ends.
func (e *Engine) collecting() {
	defer close(e.collected)
	tick := time.NewTicker(collectEvery)
	defer tick.Stop()
	for {
		select {
		case <-e.ctx.Done():
			return
		case <-tick.C:
			if err := e.Collect(e.ctx); err != nil && e.ctx.Err() == nil {
				e.log.Warn("old versions of rows stay in the cluster", "error", err)
			}
		}
	}
}

// Collect lets the cluster delete versions of rows that are older than Options.Keep and that no
// snapshot or iterator of any engine may read, if nobody has for as long. Each engine does so every minute.
func (e *Engine) Collect(ctx context.Context) error {
	now, err := e.now()
	if err != nil {
		return err
	}
	before := oracle.GoTimeToTS(oracle.GetTimeFromTS(now).Add(-e.keep))
	pd := e.store.GetPDClient()
	least, err := pd.UpdateServiceGCSafePoint(ctx, e.service(), int64(heldFor/time.Second), e.oldest(before))
	if err != nil {
		return e.fault(err)
	}
	safe, err := pd.UpdateGCSafePoint(ctx, 0) // which moves nothing back
	if err != nil {
		return e.fault(err)
	}
	// To collect is to look for locks in the whole of the cluster.
	to := min(least, before)
	if oracle.GetTimeFromTS(to).Sub(oracle.GetTimeFromTS(safe)) < e.keep {
		return nil
	}
	_, err = e.store.GC(ctx, to)
	return e.fault(err)
}

// unheld takes back what PD was told of this engine.
func (e *Engine) unheld() error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.ctx), e.wait)
	defer cancel()
	if _, err := e.store.GetPDClient().UpdateServiceGCSafePoint(ctx, e.service(), 0, 0); err != nil {
		return fmt.Errorf("tikv: what PD keeps for this engine: %w", err)
	}
	return nil
}

// service is the name of the engine at PD.
func (e *Engine) service() string { return fmt.Sprintf("stoa-%x", e.writer) }
