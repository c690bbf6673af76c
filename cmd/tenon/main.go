// Command tenon runs, lists and calls servers of the Model Context Protocol.
package main

import (
	"os"

	"github.com/tenon-mcp/tenon/cmd/tenon/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
