package approvaltest

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/kv"
)

// told is what stands in for streams and queues: a space of each tenant that has the events
// in their order, and the jobs by their ids.
type told struct{ space *kv.Space }

func toldType() kv.Type { return kv.Type{System: kv.SystemTest, Space: "told"} }

func openTold(ctx context.Context, store *kv.Store, tenant string) (told, error) {
	space, err := store.CreateSpace(ctx, tenant, kv.SystemTest, "told", kv.Quota{})
	return told{space}, err
}

// Event is one that was told.
type Event struct {
	Stream  string         `json:"stream"`
	Name    string         `json:"name"`
	Payload map[string]any `json:"payload"`
}

// Append appends an event.
func (f told) Append(w *kv.Work, stream, name string, payload json.RawMessage) error {
	text, err := json.Marshal(map[string]any{"stream": stream, "name": name, "payload": payload})
	if err != nil {
		return err
	}
	tx, err := w.In(f.space)
	if err != nil {
		return err
	}
	_, err = tx.Put(binary.BigEndian.AppendUint64([]byte("event:"), tx.Revision()), text, kv.PutOptions{})
	return err
}

type job struct {
	Queue   string          `json:"queue"`
	Due     time.Time       `json:"due"`
	Payload json.RawMessage `json:"payload"`
}

// Schedule keeps a job.
func (f told) Schedule(w *kv.Work, id, queue string, due time.Time, payload json.RawMessage) error {
	text, err := json.Marshal(job{queue, due, payload})
	if err != nil {
		return err
	}
	tx, err := w.In(f.space)
	if err != nil {
		return err
	}
	_, err = tx.Put([]byte("job:"+id), text, kv.PutOptions{})
	return err
}

// Cancel removes a job.
func (f told) Cancel(w *kv.Work, id string) error {
	tx, err := w.In(f.space)
	if err != nil {
		return err
	}
	if _, err := tx.Get([]byte("job:" + id)); err != nil {
		return nil
	}
	_, err = tx.Delete([]byte("job:" + id))
	return err
}

// Events returns what was told, in order, since the last call.
func (h *Host) Events() (list []Event) {
	h.t.Helper()
	f, err := openTold(ctx, h.KV, "t")
	require.NoError(h.t, err)
	n := 0
	for r, err := range f.space.All(ctx, []byte("event:")) {
		require.NoError(h.t, err)
		if n++; n > h.heard {
			var e Event
			require.NoError(h.t, json.Unmarshal(r.Value, &e))
			list = append(list, e)
		}
	}
	h.heard = n
	return list
}

// jobs returns those that wait, by their ids.
func (h *Host) jobs() map[string]job {
	h.t.Helper()
	f, err := openTold(ctx, h.KV, "t")
	require.NoError(h.t, err)
	list := map[string]job{}
	for r, err := range f.space.All(ctx, []byte("job:")) {
		require.NoError(h.t, err)
		var j job
		require.NoError(h.t, json.Unmarshal(r.Value, &j))
		list[string(r.Key[len("job:"):])] = j
	}
	return list
}

// Work does the jobs that are due, and removes them, as a worker does; n is how many.
func (h *Host) Work() (n int) {
	h.t.Helper()
	f, err := openTold(ctx, h.KV, "t")
	require.NoError(h.t, err)
	for id, j := range h.jobs() {
		if h.KV.Now().Before(j.Due) {
			continue
		}
		n++
		require.NoError(h.t, h.Store.Run(ctx, "t", j.Queue, j.Payload))
		if now, ok := h.jobs()[id]; ok && now.Due.Equal(j.Due) { // else it was scheduled anew
			_, err = f.space.Delete(ctx, []byte("job:"+id))
			require.NoError(h.t, err)
		}
	}
	return n
}
