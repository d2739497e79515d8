package program

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
)

func newCompletion(p *cli.Process) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:   "completion " + strings.Join(shells, "|"),
		Short: "Print the completion script of a shell",
		Long:  "Print a script that makes a shell complete commands, key types, columns and flags.",
		Example: `  source <(stoa completion bash)
  stoa completion zsh > "${fpath[1]}/_stoa"
  stoa completion fish > ~/.config/fish/completions/stoa.fish`,
		Args:              cli.Exactly("the name of a shell"),
		ValidArgsFunction: cli.CompleteFirst(func() []string { return shells }),
		RunE: func(cmd *cobra.Command, args []string) error {
			var script bytes.Buffer
			var err error
			switch args[0] {
			case "bash":
				err = cmd.Root().GenBashCompletionV2(&script, true)
			case "zsh":
				err = cmd.Root().GenZshCompletion(&script)
			case "fish":
				err = cmd.Root().GenFishCompletion(&script, true)
			case "powershell":
				err = cmd.Root().GenPowerShellCompletionWithDesc(&script)
			default:
				return cli.Bad(fmt.Errorf("no completion for %q%s", args[0], cli.DidYouMean(args[0], shells)),
					"the shells are "+strings.Join(shells, ", "))
			}
			if err != nil {
				return err
			}
			result := struct {
				Shell  string `json:"shell"`
				Script string `json:"script"`
			}{args[0], script.String()}
			return p.Emit(result, func(w io.Writer) { fmt.Fprint(w, result.Script) })
		},
	}
}
