package rpc

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// Invoke makes a call of one answer by its full name. Its error is a status.
func (c *Client) Invoke(ctx context.Context, method string, req, res proto.Message) error {
	return c.carrier.Invoke(ctx, method, req, res)
}

// HasSlots reports whether a long scan that began now would be by shared memory.
func (c *Client) HasSlots() bool {
	has := c.slotted.Take() != nil
	if has {
		c.slotted.Give()
	}
	return has
}

// Open begins a stream.
func (c *Client) Open(ctx context.Context, desc *grpc.StreamDesc, method string) (grpc.ClientStream, error) {
	return c.carrier.NewStream(ctx, desc, method)
}
