package daemon

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// statusDoc is what status prints with --json.
type statusDoc struct {
	Socket   string       `json:"socket"`
	Version  string       `json:"version"`
	Commit   string       `json:"commit,omitempty"`
	Date     time.Time    `json:"date,omitzero"` // of the commit
	API      uint32       `json:"api_version"`
	Schema   uint32       `json:"schema_version"`
	Features []string     `json:"features"`
	Engine   string       `json:"engine"`
	NodeID   string       `json:"node_id,omitempty"`
	PID      int32        `json:"pid"`
	Started  time.Time    `json:"started"`
	Writable bool         `json:"writable"`
	Reason   string       `json:"reason,omitempty"`          // why not writable
	Sequence *uint64      `json:"sequence,string,omitempty"` // of changes, by now
	Recovery *recoveryDoc `json:"recovery,omitempty"`        // how the store was found
	Disk     *diskDoc     `json:"disk,omitempty"`
	JobsOff  []string     `json:"job_workers_off,omitempty"` // queues that are left to workers outside
	Shared   *sharedDoc   `json:"shared_rows,omitempty"`     // of which clients read without a call
	UID      uint32       `json:"uid"`                       // who asks
	Roles    []string     `json:"roles"`
	Tenant   string       `json:"tenant,omitempty"`
}

type recoveryDoc struct {
	Clean    bool     `json:"clean"`
	Sequence uint64   `json:"sequence,string"`
	Synced   uint64   `json:"synced_sequence,string"`
	Notes    []string `json:"notes"`
}

type diskDoc struct {
	Free    uint64 `json:"free_bytes"`
	Reserve uint64 `json:"reserve_bytes"`
}

type sharedDoc struct {
	Bytes   uint64 `json:"bytes"`
	Kept    uint64 `json:"kept"`
	Readers uint32 `json:"readers"`
}

func newStatus(p *cli.Process) *cobra.Command {
	var from cli.ReadFlags
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Say what the daemon is, and how it is",
		Long: `Say what the daemon is, how its store was found when it started, and whether it
takes writes. It exits 5 if it takes none. --offline says what there is to say of a
directory that no daemon serves.`,
		Example: "  stoa status\n  stoa status --socket /run/stoa/stoa.sock --json\n  stoa status --offline /var/lib/stoa",
		Args:    cli.Exactly(),
		RunE: func(*cobra.Command, []string) error {
			if from.Offline != "" {
				return statusOffline(p, &from)
			}
			return connected(p, &from.DaemonFlags, func(client *rpc.Client) error {
				res, err := client.Status(p.Ctx)
				if err != nil {
					return err
				}
				d := newStatusDoc(client, res)
				if stats, err := client.Stats(p.Ctx); err == nil { // an engine that fails may not have any
					d.Sequence = &stats.Sequence
				}
				if err := p.Emit(d, d.write); err != nil {
					return err
				}
				if !d.Writable {
					return cli.Refused(fmt.Errorf("the daemon takes no writes: %s", d.Reason), "")
				}
				return nil
			})
		},
	}
	from.Register(cmd.Flags())
	return cmd
}

// statusOffline says of a directory what its files do.
func statusOffline(p *cli.Process, from *cli.ReadFlags) error {
	s, err := p.OpenSource(from.Offline, &from.Seal)
	if err != nil {
		return err
	}
	defer s.Close()
	return p.Emit(s.Facts, func(w io.Writer) { cli.WriteFacts(w, s.Facts) })
}

func newStatusDoc(client *rpc.Client, res *stoav1.StatusResponse) statusDoc {
	d := statusDoc{
		Socket: client.Path(), Version: res.Version, Commit: res.Commit, API: res.ApiVersion, Schema: res.SchemaVersion,
		Features: append([]string{}, res.Features...), Engine: res.Engine, NodeID: res.NodeId, PID: res.Pid,
		UID: res.Uid, Roles: append([]string{}, res.Roles...), Tenant: res.Tenant,
		Started: res.Started.AsTime(), JobsOff: append([]string{}, res.JobWorkersOff...), Writable: res.Health.GetWritable(), Reason: res.Health.GetReason(),
	}
	if res.Date != nil {
		d.Date = res.Date.AsTime()
	}
	if r := res.Recovery; r != nil {
		d.Recovery = &recoveryDoc{r.Clean, r.Sequence, r.SyncedSequence, append([]string{}, r.Notes...)}
	}
	if k := res.Disk; k != nil {
		d.Disk = &diskDoc{k.Free, k.Reserve}
	}
	if r := res.SharedRows; r != nil {
		d.Shared = &sharedDoc{r.Bytes, r.Kept, r.Readers}
	}
	return d
}

func (d statusDoc) write(w io.Writer) {
	var t cli.Table
	t.Add("socket", d.Socket)
	t.Add("daemon", fmt.Sprintf("%s, pid %d, since %s", d.Version, d.PID, d.Started.Local().Format(time.DateTime)))
	if d.Commit != "" {
		t.Add("commit", fmt.Sprintf("%s, %s", d.Commit, d.Date.Local().Format(time.DateTime)))
	}
	t.Add("api, schema", fmt.Sprintf("%d, %d", d.API, d.Schema))
	t.Add("engine", d.Engine)
	if d.NodeID != "" {
		t.Add("node id", d.NodeID)
	}
	if len(d.Features) > 0 {
		t.Add("features", strings.Join(d.Features, ", "))
	}
	t.Add("this user", called("user", d.UID, userName(d.UID))+": "+mayText(d.Roles, d.Tenant))
	t.Add("writes", d.writes())
	if d.Sequence != nil {
		t.Add("sequence", fmt.Sprint(*d.Sequence))
	}
	if r := d.Recovery; r != nil {
		t.Add("last close", closedHow(r.Clean))
		t.Add("at the start", fmt.Sprintf("sequence %d found, %d known to be on disk", r.Sequence, r.Synced))
		for _, note := range r.Notes {
			t.Add("recovery", note)
		}
	}
	if len(d.JobsOff) > 0 {
		t.Add("left to others", "jobs of "+strings.Join(d.JobsOff, ", ")+" (--job-workers-off)")
	}
	if r := d.Shared; r != nil {
		t.Add("shared rows", fmt.Sprintf("%s, %s, %s put there", cli.SizeText(r.Bytes), cli.Count(uint64(r.Readers), "reader"), cli.Count(r.Kept, "row")))
	}
	if k := d.Disk; k != nil {
		t.Add("disk", fmt.Sprintf("%s free, writes are refused below %s", cli.SizeText(k.Free), cli.SizeText(k.Reserve)))
	}
	t.Write(w, "")
}

// writes says whether writes are taken, and if not why.
func (d statusDoc) writes() string {
	switch k := d.Disk; {
	case !d.Writable:
		return "refused: " + d.Reason
	case k != nil && k.Free < k.Reserve/4:
		return "refused until some of the disk is freed"
	case k != nil && k.Free < k.Reserve:
		return "refused until some of the disk is freed, but for deletions"
	}
	return "taken"
}

// closedHow says how a store had been closed before it was opened.
func closedHow(clean bool) string {
	if clean {
		return "clean"
	}
	return "unclean: the daemon did not shut down in order"
}
