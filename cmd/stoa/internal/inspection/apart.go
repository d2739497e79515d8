package inspection

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
)

// verifyApart verifies a directory in a process of its own. Where RocksDB ends
// that process, as its assertions do, that is a finding.
func verifyApart(ctx context.Context, p *cli.Process, f *verifyFlags, dir string) error {
	out := newVerdicts(p, dir)
	var bar *rowBar
	abort, err := apart(ctx, p, f, dir, func(l *verdictLine) error {
		switch {
		case l.Finding != nil:
			return out.finding(*l.Finding)
		case l.Summary != nil:
			return out.summary(l.Summary)
		case bar == nil:
			bar = rows(p, "verify", l.Total)
		case l.Phase != "":
			bar.phase("verify", l.Phase, l.Done, l.All)
		default:
			bar.add(l.Rows)
		}
		return nil
	})
	if bar != nil {
		bar.finish()
	}
	if abort != nil {
		err = out.closed(*abort, f.full)
	}
	if err = errors.Join(err, out.w.Flush()); err != nil {
		return err
	}
	return out.result()
}

// verdictApart verifies a directory in a process of its own, which damage may end,
// on behalf of another command.
func verdictApart(ctx context.Context, p *cli.Process, f *verifyFlags, dir string, o inspect.VerifyOptions,
	visit func(inspect.Finding) error) (v *inspect.Verdict, err error) {
	abort, err := apart(ctx, p, f, dir, func(l *verdictLine) error {
		switch {
		case l.Finding != nil:
			return visit(*l.Finding)
		case l.Summary != nil:
			v = l.Summary
		case l.Rows > 0 && o.Progress != nil:
			o.Progress(l.Rows)
		}
		return nil
	})
	if abort != nil {
		return &inspect.Verdict{Full: f.full, Findings: 1, Codes: map[string]uint64{abort.Code: 1}}, visit(*abort)
	}
	if err != nil {
		return nil, err
	}
	return v, nil
}

// apart runs verify on a directory in a process of its own, and passes on its lines. It
// returns a finding if that has ended before its verdict, and did not say why.
func apart(ctx context.Context, p *cli.Process, f *verifyFlags, dir string, each func(*verdictLine) error) (abort *inspect.Finding, err error) {
	args := []string{"verify", "--in-process", "--json"}
	if f.full {
		args = append(args, "--full")
	}
	if f.building {
		args = append(args, "--building")
	}
	child := p.Self(ctx, append(append(args, f.sealed.Args()...), "--", dir)...)
	var said cli.Tail
	child.Stderr = &said
	stdout, err := child.StdoutPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start a process to verify in: %w", err)
	}
	whole, err := readVerdicts(stdout, each)
	if err != nil {
		_ = child.Process.Kill() // it may have ended
	}
	ended := child.Wait()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil || whole:
		return nil, err
	}
	if failed := said.Failure(); failed != nil {
		return nil, failed
	}
	return &inspect.Finding{Code: "abort", Reason: fmt.Sprintf("the process that read the directory ended (%v): %s", ended, said.First())}, nil
}

// readVerdicts passes on the lines of a process of verify; whole says that a verdict was
// among them.
func readVerdicts(r io.Reader, each func(*verdictLine) error) (whole bool, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var l verdictLine
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			return whole, fmt.Errorf("what the process of verify prints: %w", err)
		}
		if err := each(&l); err != nil {
			return whole, err
		}
		whole = whole || l.Summary != nil
	}
	return whole, lines.Err()
}
