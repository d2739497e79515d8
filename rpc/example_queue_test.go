package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/stoadb/stoa/rpc"
)

// Work is a stream of messages, and a durable consumer hands each to one of its workers, again
// where one fails or goes away without a word: a worker has AckWait, or says that it is at it. So
// a message may be done twice, and its effects should be ones that may. What fails too often is
// set aside as a dead letter, for people.
func Example_workQueue() {
	ctx, streams := context.Background(), dial().Streams("acme")
	if _, err := streams.Create(ctx, rpc.Synced, "mail", rpc.StreamLimits{Entries: 10_000}); err != nil {
		log.Fatal(err)
	}
	if _, err := streams.CreateConsumer(ctx, rpc.Synced, "mail", rpc.StreamConfig{Name: "senders", AckWait: time.Minute, MaxDeliver: 3}); err != nil {
		log.Fatal(err)
	}
	for _, to := range []string{"ann", "bob"} {
		if _, err := streams.Publish(ctx, rpc.Synced, "mail", rpc.StreamAppendOptions{}, rpc.StreamMessage{Subject: "mail." + to, Payload: []byte("hello " + to)}); err != nil {
			log.Fatal(err)
		}
	}

	send := func(d rpc.StreamDelivery) error {
		if d.Subject == "mail.bob" && d.Deliveries == 1 {
			return errors.New("no route to bob")
		}
		fmt.Printf("sent %q\n", d.Payload)
		return nil
	}
	// Any number of workers do this, each with a client of its own.
	work := streams.Consumer("mail", "senders")
	for {
		delivered, err := work.Fetch(ctx, rpc.Synced, rpc.StreamFetchOptions{Limit: 1}) // Wait: for the next
		if err != nil {
			log.Fatal(err)
		}
		if len(delivered) == 0 {
			break
		}
		for _, d := range delivered {
			if failed := send(d); failed != nil {
				dead, err := work.Nak(ctx, rpc.Synced, d.Ref(), 0, failed.Error()) // again at once
				fmt.Println("failed:", failed, dead, err)
			} else if _, err := work.Ack(ctx, rpc.Synced, d.Ref()); err != nil {
				log.Fatal(err)
			}
		}
	}
	// Output:
	// sent "hello ann"
	// failed: no route to bob false <nil>
	// sent "hello bob"
}
