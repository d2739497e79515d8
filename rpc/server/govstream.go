package server

import "context"

const (
	whatGovStreams = "streams of ops"

	// govQueue is how many bytes of ops wait on a stream, either way.
	govQueue = 1 << 20
	// govTogether is how many ops a message of a stream has, at most.
	govTogether = 256
)

// govStream is dagStream for the services Namespace and Group.
func (s *Server) govStream(ctx context.Context, work func(context.Context, *peerWait) error) error {
	return s.pacedStream(ctx, &s.govStreams, work)
}
