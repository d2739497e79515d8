package server

import (
	"net"
	"os"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

const (
	notifyReady    = daemon.SdNotifyReady
	notifyStopping = daemon.SdNotifyStopping
	notifyWatchdog = daemon.SdNotifyWatchdog
)

// notifyPatience is how long systemd has to take a notification.
const notifyPatience = time.Second

// notify tells systemd of a change, if it is systemd that started the process. A notification
// is a datagram (sd_notify(3)). Where systemd does not take it in time it is not told: the
// library's SdNotify waits for ever, and the end of the process with it.
func (s *Server) notify(state string) {
	path := os.Getenv("NOTIFY_SOCKET")
	if path == "" {
		return
	}
	if err := sendDatagram(path, state); err != nil {
		s.log.Warn("systemd was not notified", "state", state, "error", err)
	}
}

func sendDatagram(path, text string) error {
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetWriteDeadline(time.Now().Add(notifyPatience)); err != nil {
		return err
	}
	_, err = conn.Write([]byte(text))
	return err
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
