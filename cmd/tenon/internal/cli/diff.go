package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/cmd/tenon/internal/recording"
)

func (a *app) diffCommand() *cobra.Command {
	var ignore []string
	c := &cobra.Command{
		Use:     "diff OLD NEW",
		Short:   "Compare two recordings",
		Long:    "Compare what the same requests were answered in two recordings. Exits with 7 where they differ.",
		Example: "  tenon diff old.mcprec new.mcprec --ignore 'structuredContent.time'",
		Args:    cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			was, err := readRecording(args[0])
			if err != nil {
				return err
			}
			is, err := readRecording(args[1])
			if err != nil {
				return err
			}
			return a.diff(recording.Diff(was, is, ignore))
		},
	}
	c.Flags().StringArrayVar(&ignore, "ignore", nil, "a path that may differ, such as structuredContent.time or content[*].text")
	return c
}

func (a *app) diff(of []recording.Difference) error {
	if a.json {
		if of == nil {
			of = []recording.Difference{}
		}
		if err := a.printJSON(of); err != nil {
			return err
		}
	} else {
		for _, d := range of {
			fmt.Fprintln(a.out, "✗", escape(d.String()))
		}
	}
	if len(of) > 0 {
		return &codeError{exitCheck, fmt.Errorf("the recordings differ in %d calls", len(of))}
	}
	return nil
}
