package tikv

import "context"

// Renew has the leader say again that it is there.
func (l *Lease) Renew(ctx context.Context) error { return l.renew(ctx) }

// Fault is an error of the cluster in our terms.
func (e *Engine) Fault(err error) error { return e.fault(err) }
