package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// health asks PD at url whether it has so many stores, and each region a replica on all of them, that is
// neither behind nor without a leader.
func health(ctx context.Context, client *http.Client, url string, stores int) error {
	var s struct{ Count int }
	if err := ask(ctx, client, url+"/pd/api/v1/stores", &s); err != nil {
		return err
	}
	if s.Count != stores {
		return fmt.Errorf("PD has %d stores of %d", s.Count, stores)
	}
	var r struct {
		Regions []struct {
			ID      uint64
			Peers   []struct{}
			Leader  struct{ ID uint64 }
			Down    []struct{} `json:"down_peers"`
			Pending []struct{} `json:"pending_peers"`
		}
	}
	if err := ask(ctx, client, url+"/pd/api/v1/regions", &r); err != nil {
		return err
	}
	for _, region := range r.Regions {
		if len(region.Peers) != stores || region.Leader.ID == 0 || len(region.Down)+len(region.Pending) > 0 {
			return fmt.Errorf("region %d has %d replicas of %d, %d of which are down, and %d behind", region.ID, len(region.Peers), stores, len(region.Down), len(region.Pending))
		}
	}
	if len(r.Regions) == 0 {
		return errors.New("PD has no region")
	}
	return nil
}

func ask(ctx context.Context, client *http.Client, url string, answer any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	a, err := client.Do(r)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	if a.StatusCode != http.StatusOK {
		return fmt.Errorf("PD answers %s", a.Status)
	}
	return json.NewDecoder(a.Body).Decode(answer)
}
