package cli

import (
	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/cmd/tenon/internal/everything"
)

// sampleCommand serves the sample server on stdin and stdout. `tenon dev` starts
// itself with it for its self-check.
func (a *app) sampleCommand() *cobra.Command {
	return &cobra.Command{
		Use:    sampleName,
		Short:  "Serve the sample server on stdin and stdout",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return tenon.Serve(c.Context(), everything.New(version(), nil), tenon.OverStdio())
		},
	}
}

const sampleName = "everything"
