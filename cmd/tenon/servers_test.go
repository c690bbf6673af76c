package main

import (
	"bufio"
	"fmt"
	"os"

	"github.com/go-json-experiment/json"
)

// speak is a server by hand: answer returns what is printed for a request or,
// with the id 0, a notification. Nothing is printed for an empty answer.
func speak(answer func(id int, method string) string) {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var msg struct {
			ID     int    `json:"id"`
			Method string `json:"method"`
		}
		if json.Unmarshal(in.Bytes(), &msg) != nil {
			continue
		}
		if a := answer(msg.ID, msg.Method); a != "" {
			fmt.Printf(`{"jsonrpc":"2.0","id":%d,%s}`+"\n", msg.ID, a)
		}
	}
}

const noSuchMethod = `"error":{"code":-32601,"message":"no such method"}`

// hostile is a server whose texts try to drive the terminal.
func hostile() {
	fmt.Fprintln(os.Stderr, "log\x1b[2J\u202e")
	speak(func(id int, method string) string {
		switch method {
		case "initialize":
			return `"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"resources":{},"prompts":{},"completions":{}},"serverInfo":{"name":"h\u001b]0;x\u0007","version":"1"},"instructions":"a\u001b[2Jb\u202ec"}`
		case "ping":
			return `"result":{}`
		case "resources/list":
			return `"result":{"resources":[{"uri":"h://\u001b[2J","name":"n","description":"d\u202e\u009b"}]}`
		case "resources/templates/list":
			return `"result":{"resourceTemplates":[{"uriTemplate":"h://\u001b[2J{x}","name":"n\u202e"}]}`
		case "resources/read":
			return `"result":{"contents":[{"uri":"h://r","text":"a\u001b[2J\u202e"},{"uri":"h://\u001b[2J","mimeType":"\u009b","blob":"G1sySg=="}]}`
		case "prompts/list":
			return `"result":{"prompts":[{"name":"p","description":"d\u001b[2J","arguments":[{"name":"a\u202e"}]}]}`
		case "prompts/get":
			return `"result":{"messages":[{"role":"user","content":{"type":"text","text":"t\u001b[2J\u202e"}}]}`
		case "completion/complete":
			return `"result":{"completion":{"values":["v\u001b[2J\u202e"]}}`
		case "tools/list":
			return `"result":{"tools":[` +
				`{"name":"t","title":"a\u001b[2Jb\u202ec\nd","inputSchema":{"type":"object","properties":{"p\u009b":{"type":"\u202estring"}}}},` +
				`{"name":"say","inputSchema":{"type":"object"}}]}`
		case "tools/call":
			return `"result":{"isError":true,"content":[{"type":"text","text":"bad\u001b[31m\u009b\u2066"}]}`
		}
		if id == 0 {
			return ""
		}
		return noSuchMethod
	})
}

// waiter is a server whose tool does not answer. It tells stderr what it hears.
func waiter() {
	speak(func(id int, method string) string {
		switch method {
		case "initialize":
			return `"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"waiter","version":"1"}}`
		case "tools/list":
			return `"result":{"tools":[{"name":"wait","inputSchema":{"type":"object"}}]}`
		case "tools/call", "notifications/cancelled":
			fmt.Fprintln(os.Stderr, method)
			return ""
		}
		if id == 0 {
			return ""
		}
		return noSuchMethod
	})
}

// asker is a server of old whose tool needs to ask.
func asker() {
	speak(func(id int, method string) string {
		switch method {
		case "initialize":
			return `"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"asker","version":"1"}}`
		case "tools/list":
			return `"result":{"tools":[{"name":"old-elicit","inputSchema":{"type":"object"}}]}`
		case "tools/call":
			return `"result":{"isError":true,"content":[{"type":"text","text":"Client does not have the Elicitation capability"}]}`
		}
		if id == 0 {
			return ""
		}
		return noSuchMethod
	})
}
