package cli

import (
	"runtime"

	"github.com/spf13/cobra"
)

// versionReport is what version prints with --json.
type versionReport struct {
	Version  string `json:"version"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			r := versionReport{version(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
			if a.json {
				return a.printJSON(r)
			}
			return a.print("tenon " + r.Version + " · " + r.Go + " · " + r.Platform + "\n")
		},
	}
}
