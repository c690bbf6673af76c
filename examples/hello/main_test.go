package main

import (
	"os"
	"testing"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/client"
)

// The test binary is the server when it is started as one.
func TestMain(m *testing.M) {
	if os.Getenv("HELLO_SERVE") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestHello(t *testing.T) {
	t.Parallel()
	c, err := tenon.Connect(t.Context(), "'"+os.Args[0]+"'", tenon.WithEnv("HELLO_SERVE=1"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	got, err := client.CallTool[string](t.Context(), c, "greet", greeting{Name: "Ada"})
	if err != nil {
		t.Fatal(err)
	}
	if want := "Hello, Ada!"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
