package server

import "github.com/stoadb/stoa/rpc/stoav1"

// blobService is the Blob service.
type blobService struct {
	stoav1.UnimplementedBlobServer
	s *Server
}
