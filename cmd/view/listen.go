package view

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"github.com/stoadb/stoa/rpc/server/socket"
)

// ErrListen is returned by Listen for an address that is no Unix socket, nor of
// this machine alone.
var ErrListen = errors.New("view: not a local address")

// Listen listens at "unix:PATH", which only this user reaches, or at a port of a
// loopback address, as "127.0.0.1:8080"; port 0 is any that is free. url is what
// leads to the root of what is served there, without a slash at its end; a socket
// has none, and the browser comes through a tunnel.
func Listen(address string) (ln net.Listener, url string, err error) {
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		socket, err := socket.Listen(path, socket.Options{})
		if err != nil {
			return nil, "", err
		}
		return socket, "http://localhost", nil
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, "", fmt.Errorf("%w: %q is neither unix:PATH nor 127.0.0.1:PORT", ErrListen, address)
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	if ip, err := netip.ParseAddr(host); err != nil || !ip.IsLoopback() {
		return nil, "", fmt.Errorf("%w: %q is not a loopback address: what is served shows the whole store", ErrListen, host)
	}
	if ln, err = net.Listen("tcp", net.JoinHostPort(host, port)); err != nil {
		return nil, "", fmt.Errorf("view: listen: %w", err)
	}
	return ln, "http://" + ln.Addr().String(), nil
}
