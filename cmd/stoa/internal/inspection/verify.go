package inspection

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/rocks"
)

func newVerify(p *cli.Process) *cobra.Command {
	var source sourceFlags
	var foreign cli.MerodFlag
	var f verifyFlags
	cmd := &cobra.Command{
		Use:   "verify [DIR]",
		Short: "Prove that a store is right, or list what is wrong",
		Long: `Read every row of a store, and list what is wrong, one finding a line: a code, the
column, the key and the reason. The fast checks, which are the default, are that every
key and value parses, that sequences have no gaps, that heads are there, and that blobs
have their chunks. --full adds what rows say of each other, hashes content, takes deltas
and ops in again, and ends with the time that each of this has taken.

It exits 2 if it finds anything. --codes lists what it can find, and reads nothing. It
reads a directory in a process of its own, so that damage which ends RocksDB is a
finding too. ` + cli.ConceptsHint + `.

` + sourceLong + merodLong,
		Example: "  stoa verify /var/lib/stoa\n  stoa verify --full --json /backup/stoa-today\n  stoa verify --merod ~/.calimero/node1/data",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if d, err := openMerod(&foreign, cmd, args, "fast", "full", "codes"); d != nil || err != nil {
				if err != nil {
					return err
				}
				return verifyMerod(p, cmd, d)
			}
			switch {
			case f.codes && (len(args) > 0 || source.socket != "" || f.fast || f.full):
				return cli.Bad(errors.New("--codes goes alone: it reads no store"), "")
			case f.codes:
				return p.Emit(struct {
					Codes []inspect.Code `json:"codes"`
				}{inspect.Codes}, writeCodes)
			case f.fast && f.full:
				return cli.Bad(errors.New("--fast and --full exclude each other"), "")
			case source.socket == "" && !f.inProcess:
				f.sealed = &source.seal
				return verifyApart(cmd.Context(), p, &f, directory(p, args))
			}
			source.building = f.building
			where := source.socket
			if where == "" {
				where = directory(p, args)
			}
			return verify(p, cmd, &f, where, func() (*inspect.Source, error) { return source.open(p, args) })
		},
	}
	source.register(cmd.Flags())
	foreign.Register(cmd.Flags())
	f.register(cmd)
	return cmd
}

// verifyFlags are the flags of verify.
type verifyFlags struct {
	fast, full bool
	codes      bool
	inProcess  bool // the process that verifyApart starts
	building   bool // a store that is being built counts as whole
	sealed     *cli.SealFlags
}

func (f *verifyFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.BoolVar(&f.fast, "fast", false, "the fast checks (the default)")
	fs.BoolVar(&f.full, "full", false, "all checks")
	fs.BoolVar(&f.codes, "codes", false, "list the codes of findings, and what they mean")
	fs.BoolVar(&f.inProcess, "in-process", false, "read the directory in this process, and tell of progress in JSON")
	fs.BoolVar(&f.building, "building", false, "take a store that is being built for a whole one")
	for _, hidden := range []string{"in-process", "building"} {
		_ = fs.MarkHidden(hidden) // fails only for a flag that is not there
	}
}

func writeCodes(w io.Writer) {
	t := cli.Table{Right: make([]bool, 3)}
	t.Add("code", "when", "what is wrong")
	for _, c := range inspect.Codes {
		t.Add(c.Code, c.When, c.Means)
	}
	t.Write(w, "")
}

// verdictLine is one line of what verify prints as JSON: one of these.
type verdictLine struct {
	Finding *inspect.Finding `json:"finding,omitempty"`
	Rows    uint64           `json:"rows,omitempty"` // read since the last line; from the process of verifyApart
	Total   uint64           `json:"total,omitempty"`
	Phase   string           `json:"phase,omitempty"` // that has begun, and how far it is; likewise
	Done    uint64           `json:"done,omitempty"`
	All     uint64           `json:"all,omitempty"`
	Summary *inspect.Verdict `json:"summary,omitempty"`
}

// verify verifies a source in this process; where is its directory or socket.
func verify(p *cli.Process, cmd *cobra.Command, f *verifyFlags, where string, open func() (*inspect.Source, error)) error {
	out := newVerdicts(p, where)
	s, err := open()
	code := ""
	switch {
	case errors.Is(err, rocks.ErrUnfinished):
		code = "unfinished"
	case errors.Is(err, engine.ErrCorrupt):
		code = "open"
	}
	if code != "" {
		return errors.Join(out.closed(inspect.Finding{Code: code, Reason: err.Error()}, f.full), out.w.Flush(), out.result())
	}
	if err != nil {
		return err
	}
	defer s.Close()
	o := inspect.VerifyOptions{Full: f.full, Building: f.building}
	if f.full {
		o.Now = time.Now
	}
	if f.inProcess {
		debug.SetGCPercent(40) // what is kept is tables of RocksDB and pages of tries, which leave little garbage
		if err := out.line(verdictLine{Total: s.Keys()}); err != nil {
			return err
		}
		tell := func(l verdictLine) { _ = errors.Join(out.line(l), out.w.Flush()) } // the next finding fails too
		o.Progress = func(n uint64) { tell(verdictLine{Rows: n}) }
		o.Step = func(what string, done, all uint64) { tell(verdictLine{Phase: what, Done: done, All: all}) }
	}
	v, err := inspect.Verify(cmd.Context(), s, o, out.finding)
	if err == nil {
		err = out.summary(v)
	}
	return errors.Join(err, out.w.Flush(), out.result())
}

// ledgerHint is what to do about a ledger that does not hold.
const ledgerHint = "what a ledger has lost is not made again: keep the store as it is, and compare it with backups (`stoa diff`)"

// verdicts is what verify prints.
type verdicts struct {
	w     *bufio.Writer
	json  bool
	where string // the store's directory or socket
	found int
	blobs int  // of those, what is wrong with blobs
	chain bool // a ledger does not hold
	part  bool // the store is not whole
}

func newVerdicts(p *cli.Process, where string) *verdicts {
	return &verdicts{w: bufio.NewWriter(p.Stdout), json: p.JSON, where: where}
}

func (o *verdicts) line(l verdictLine) error { return cli.WriteJSON(o.w, l) }

func (o *verdicts) finding(f inspect.Finding) error {
	o.found++
	o.part = o.part || f.Code == "unfinished"
	o.chain = o.chain || strings.HasPrefix(f.Code, "ledger-")
	if strings.HasPrefix(f.Code, "blob-") {
		o.blobs++
	}
	if o.json {
		return o.line(verdictLine{Finding: &f})
	}
	_, err := fmt.Fprintln(o.w, f)
	return err
}

// closed reports a store of which nothing else can be said.
func (o *verdicts) closed(f inspect.Finding, full bool) error {
	return errors.Join(o.finding(f), o.summary(&inspect.Verdict{Store: inspect.Facts{Where: o.where}, Full: full, Findings: uint64(o.found), Codes: map[string]uint64{f.Code: 1}}))
}

func (o *verdicts) summary(v *inspect.Verdict) error {
	if o.json {
		return o.line(verdictLine{Summary: v})
	}
	writeVerdict(o.w, v)
	return nil
}

// result is how verify ends.
func (o *verdicts) result() error {
	if o.found == 0 {
		return nil
	}
	hint := "`stoa verify --codes` explains the codes"
	if o.blobs > 0 {
		hint += "; `stoa blob verify --repair` repairs what can be of blobs"
	}
	if o.chain {
		hint += "; " + ledgerHint
	}
	switch {
	case o.part:
		hint += "; " + cli.UnfinishedHint(o.where)
	case o.found > o.blobs:
		hint += "; " + cli.MendHint
	}
	return cli.Fail(cli.ExitDamage, errors.New(cli.Count(o.found, "finding")), hint)
}

func writeVerdict(w io.Writer, v *inspect.Verdict) {
	mode := "fast"
	if v.Full {
		mode = "full"
	}
	fmt.Fprintf(w, "%s verification of %s: %s\n", mode, cli.Count(v.Rows, "row"), cli.Count(v.Findings, "finding"))
	for _, code := range slices.Sorted(maps.Keys(v.Codes)) {
		fmt.Fprintf(w, "  %s: %d\n", code, v.Codes[code])
	}
	for _, note := range v.Notes {
		fmt.Fprintln(w, "note:", note)
	}
	for i, p := range v.Split {
		sep := ", "
		if i == 0 {
			sep = "time: "
		}
		fmt.Fprintf(w, "%s%s %.2f s", sep, p.Phase, p.Seconds)
	}
	if len(v.Split) > 0 {
		fmt.Fprintln(w)
	}
}
