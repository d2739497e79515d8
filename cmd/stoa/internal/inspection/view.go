package inspection

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/cmd/view"
)

// viewDoc is what view prints when it listens.
type viewDoc struct {
	Listen string `json:"listen"` // the address, or the path of the socket
	URL    string `json:"url"`
}

func newView(p *cli.Process) *cobra.Command {
	var source sourceFlags
	var foreign cli.MerodFlag
	var listen string
	cmd := &cobra.Command{
		Use:   "view [DIR]",
		Short: "Serve a page to look at a store with",
		Long: `Serve a page that shows what is in a store: its columns and sizes, the rows in them, blobs,
key-values, the records of collections, tasks as a board, locks and who waits for whom, why a
decision comes out as it does, the deltas of contexts and the ops of namespaces as graphs, the
tree of groups, and what verify finds. A search finds ids, names and keys in all of them. It
runs until Ctrl-C, changes nothing of the store, and shows no secrets.

The page is for this machine only, and for those who have the address that is printed:
there is a token in it. With --listen unix:PATH only this user reaches it; a tunnel leads
there, as from another machine:

  ssh -L 8080:/run/user/1000/view.sock host

It shows the store as it was when it was opened; the button Reload opens it again, and with
--socket the box Live follows the daemon. The fast checks of stoa verify begin by themselves
where the store is small.

` + sourceLong + merodLong,
		Example: "  stoa view /var/lib/stoa\n  stoa view --socket /run/stoa/stoa.sock --listen 127.0.0.1:8080\n  stoa view /backup/stoa-today --listen unix:/run/user/1000/view.sock\n  stoa view --merod ~/.calimero/node1/data",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			o := view.Options{Open: func() (*inspect.Source, error) { return source.open(p, args) }}
			if source.socket == "" {
				o.Verify = func(ctx context.Context, o inspect.VerifyOptions, visit func(inspect.Finding) error) (*inspect.Verdict, error) {
					return verdictApart(ctx, p, &verifyFlags{full: o.Full, sealed: &source.seal}, directory(p, args), o, visit)
				}
			}
			d, err := openMerod(&foreign, cmd, args)
			if err != nil {
				return err
			}
			var s *view.Server
			if d != nil {
				s, err = view.NewMerod(d)
			} else {
				s, err = view.New(o)
			}
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, s.Close()) }()
			// Before it listens: who sees its socket may stop it.
			ctx, forget := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer forget()
			ln, root, err := view.Listen(listen)
			if errors.Is(err, view.ErrListen) {
				return cli.Bad(fmt.Errorf("--listen: %w", err), "")
			}
			if err != nil {
				return cli.CannotOpen(fmt.Errorf("--listen: %w", err))
			}
			said := viewDoc{Listen: ln.Addr().String(), URL: root + s.Path()}
			if err := p.Emit(said, said.write); err != nil {
				return errors.Join(err, ln.Close())
			}
			return s.Serve(ctx, ln)
		},
	}
	source.register(cmd.Flags())
	foreign.Register(cmd.Flags())
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:0", "unix:PATH, or a port of a loopback address; port 0: one that is free")
	return cmd
}

func (d viewDoc) write(w io.Writer) {
	fmt.Fprintln(w, d.URL)
	if strings.HasPrefix(d.Listen, "/") || !strings.Contains(d.Listen, ":") {
		fmt.Fprintln(w, "behind", d.Listen)
	}
	fmt.Fprintln(w, "Whoever has this address reads what the page shows. Stop with Ctrl-C.")
}
