package tikv

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/tikv/client-go/v2/util/codec"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// PD knows of each region about how many keys and bytes it has, but not where in it they are. So what is
// small is counted, up to measuredKeys keys, and of more PD is asked.
const (
	measuredKeys = 10_000
	measuredFor  = time.Minute // how long counts of whole columns are good
)

// measured are counts of columns, and when they were made.
type measured struct {
	at      time.Time
	columns []engine.ColumnStats
}

// columns counts the keys of all columns and their bytes, unless that was done a while ago.
func (e *Engine) columns() ([]engine.ColumnStats, error) {
	e.measuredMu.Lock()
	defer e.measuredMu.Unlock()
	if time.Since(e.measured.at) < measuredFor {
		return e.measured.columns, nil
	}
	var columns []engine.ColumnStats
	for c := range column.All {
		keys, size, err := e.measure(c, engine.Range{})
		if err != nil {
			return nil, err
		}
		columns = append(columns, engine.ColumnStats{Column: c, Keys: keys, TableBytes: size})
	}
	e.measured = measured{time.Now(), columns}
	return columns, nil
}

// measure returns about how many keys a range has, and about how many bytes.
func (e *Engine) measure(col column.Column, r engine.Range) (keys, size uint64, err error) {
	if len(e.pd) > 0 {
		r.Limit = measuredKeys
	}
	it, err := e.Iterate(col, r)
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = it.Close() }() // what it has to say, Err has said
	for it.Next() {
		keys++
		size += uint64(len(it.Key()) + len(it.Value()))
	}
	if err := it.Err(); err != nil || r.Limit == 0 || keys < measuredKeys {
		return keys, size, err
	}
	start, end := e.column(col).at(r.Start), e.column(col).end()
	if r.End != nil {
		end = e.column(col).at(r.End)
	}
	regions, err := e.regions(start, end)
	return max(keys, regions.Keys), max(size, regions.MiB<<20), err
}

// regionStats is what PD says of the regions in which a range lies.
type regionStats struct {
	Keys uint64 `json:"storage_keys"`
	MiB  uint64 `json:"storage_size"`
}

// regions asks PD, by its HTTP interface (pd/api/v1/stats/region), one server after the other.
func (e *Engine) regions(start, end []byte) (s regionStats, err error) {
	ctx, cancel := context.WithTimeout(e.ctx, e.wait)
	defer cancel()
	query := url.Values{"start_key": {string(codec.EncodeBytes(nil, start))}, "end_key": {string(codec.EncodeBytes(nil, end))}}
	for _, server := range e.pd {
		if s, err = e.ask(ctx, server+"/pd/api/v1/stats/region?"+query.Encode()); err == nil {
			break
		}
	}
	return s, err
}

func (e *Engine) ask(ctx context.Context, address string) (s regionStats, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return s, err
	}
	answer, err := e.http.Do(request)
	if err != nil {
		return s, fmt.Errorf("tikv: sizes of regions: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return s, fmt.Errorf("tikv: sizes of regions: PD answers %s", answer.Status)
	}
	if err := json.NewDecoder(answer.Body).Decode(&s); err != nil {
		return s, fmt.Errorf("tikv: sizes of regions: %w", err)
	}
	return s, nil
}
