package view

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/stoadb/stoa/engine"
	kvjob "github.com/stoadb/stoa/kv/job"
	"github.com/stoadb/stoa/kv/kvstorage"
	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/kv/record"
	"github.com/stoadb/stoa/rpc"
)

// badRequest is an error of who asks.
type badRequest struct{ error }

func bad(format string, args ...any) error { return badRequest{fmt.Errorf(format, args...)} }

// data answers with what answer returns, as JSON.
func data(answer func(*http.Request) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		doc, err := answer(r)
		status := http.StatusOK
		if err != nil {
			status = statusOf(err)
			doc = map[string]string{"error": err.Error()}
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(doc) // whoever has asked is gone
	})
}

func statusOf(err error) int {
	var bad badRequest
	var refused *record.Error
	var held *lock.Error
	var ofJobs *kvjob.Error
	var ofValues *kvstorage.Error
	switch {
	case errors.As(err, &bad):
		return http.StatusBadRequest
	case errors.Is(err, engine.ErrNotFound):
		return http.StatusNotFound
	case errors.As(err, &refused), errors.As(err, &held), errors.As(err, &ofJobs), errors.As(err, &ofValues):
		return http.StatusBadRequest
	case errors.Is(err, rpc.ErrSecret):
		return http.StatusForbidden
	}
	return cmp.Or(ofBuckets(err), http.StatusInternalServerError)
}

// limitOf returns the limit that a request names, usual if it names none, and
// not more than most.
func limitOf(r *http.Request, usual, most int) (int, error) {
	text := r.URL.Query().Get("limit")
	if text == "" {
		return usual, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, bad("limit: %q is no number from 1", text)
	}
	return min(n, most), nil
}

// idOf returns the id of 32 bytes that a request names.
func idOf(r *http.Request, name string) (id [32]byte, err error) {
	b, err := bytesOf(r, name)
	if err == nil && len(b) != len(id) {
		err = bad("%s: %d bytes instead of %d", name, len(b), len(id))
	}
	if err != nil {
		return id, err
	}
	return [32]byte(b), nil
}
