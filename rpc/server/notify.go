package server

import (
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

const (
	notifyReady    = daemon.SdNotifyReady
	notifyStopping = daemon.SdNotifyStopping
	notifyWatchdog = daemon.SdNotifyWatchdog
)

// notify tells systemd of a change, if it is systemd that started the process.
func (s *Server) notify(state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		s.log.Warn("systemd was not notified", "state", state, "error", err)
	}
}

// startWatchdog tells systemd that the process is alive, twice as often as asked
// for, as long as the engine answers. It does nothing unless systemd asks.
func (s *Server) startWatchdog() (stop func()) {
	every, err := daemon.SdWatchdogEnabled(false)
	if err != nil || every <= 0 {
		return func() {}
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(every / 2)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				s.eng.Health() // does not return if the engine hangs
				s.notify(notifyWatchdog)
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}
