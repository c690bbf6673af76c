package everything

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

type message struct {
	Message string `json:"message" jsonschema:"what to say"`
}

type terms struct {
	A float64 `json:"a" jsonschema:"the first number"`
	B float64 `json:"b" jsonschema:"the second number"`
}

type sum struct {
	Sum float64 `json:"sum"`
}

type city struct {
	City string `json:"city" jsonschema:"where"`
}

type weather struct {
	City        string  `json:"city"`
	Temperature float64 `json:"temperature" jsonschema:"in degrees Celsius"`
	Sky         string  `json:"sky"`
}

type work struct {
	Steps   int     `json:"steps" jsonschema:"how many steps,minimum=1,maximum=100,default=5"`
	Seconds float64 `json:"seconds" jsonschema:"how long all steps take,exclusiveMinimum=0,maximum=60,default=1"`
}

type none struct{}

func addTools(s *server.Server) {
	readOnly := true
	hints := &mcp.ToolAnnotations{ReadOnlyHint: &readOnly}
	tool := func(name, title, description string) mcp.Tool {
		return mcp.Tool{Name: name, Title: title, Description: description, Annotations: hints}
	}
	server.AddTool(s, tool("echo", "Echo", "Say it again"), func(_ context.Context, in message) (string, error) {
		return in.Message, nil
	})
	server.AddTool(s, tool("add", "Add", "Add two numbers"), func(_ context.Context, in terms) (sum, error) {
		return sum{in.A + in.B}, nil
	})
	server.AddTool(s, tool("weather", "Weather", "Structured content: made-up weather"), func(_ context.Context, in city) (weather, error) {
		return weather{City: in.City, Temperature: 21.5, Sky: "clear"}, nil
	})
	server.AddTool(s, tool("fail", "Fail", "A tool that fails"), func(context.Context, none) (string, error) {
		return "", errors.New("this tool always fails")
	})
	server.AddTool(s, tool("slow", "Work slowly", "Takes its time and tells its progress"), slow)
	server.AddTool(s, tool("image", "Image", "An image: one red pixel"), func(context.Context, none) (mcp.Content, error) {
		return &mcp.ImageContent{Data: pixel(), MIMEType: "image/png"}, nil
	})
	server.AddTool(s, tool("audio", "Audio", "A sound: a tenth of a second of the note A"), func(context.Context, none) (mcp.Content, error) {
		return &mcp.AudioContent{Data: tone(), MIMEType: "audio/wav"}, nil
	})
	server.AddTool(s, tool("link", "Link", "A link to a resource, and the resource itself"), func(context.Context, none) ([]mcp.Content, error) {
		return []mcp.Content{
			&mcp.ResourceLink{URI: uriReadme, Name: "readme", MIMEType: "text/plain"},
			&mcp.EmbeddedResource{Resource: mcp.ResourceContents{URI: uriReadme, MIMEType: "text/plain", Text: "Everything is here."}},
		}, nil
	})
	server.AddTool(s, tool("log", "Log", "Logs the message at every level"), logAll)
	server.AddTool(s, tool("touch", "Touch", "Tells subscribers that "+uriReadme+" changed"), func(ctx context.Context, _ none) (string, error) {
		return "told", s.ResourceUpdated(ctx, uriReadme)
	})
}

func slow(ctx context.Context, in work) (string, error) {
	tick := time.NewTicker(max(1, time.Duration(in.Seconds*float64(time.Second))/time.Duration(in.Steps)))
	defer tick.Stop()
	call := server.CallFrom(ctx)
	for i := 1; i <= in.Steps; i++ {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return "", ctx.Err()
		}
		if err := call.Progress(ctx, float64(i), float64(in.Steps), fmt.Sprintf("step %d of %d", i, in.Steps)); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%d steps done", in.Steps), nil
}

func logAll(ctx context.Context, in message) (string, error) {
	call := server.CallFrom(ctx)
	for _, level := range []mcp.LoggingLevel{
		mcp.LevelDebug, mcp.LevelInfo, mcp.LevelNotice, mcp.LevelWarning,
		mcp.LevelError, mcp.LevelCritical, mcp.LevelAlert, mcp.LevelEmergency,
	} {
		if err := call.Log(ctx, level, in.Message); err != nil {
			return "", err
		}
	}
	return "logged", nil
}

// pixel is a PNG of one red pixel.
func pixel() []byte {
	img := image.NewRGBA(image.Rect(0, 0, 1, 1))
	img.Set(0, 0, color.RGBA{R: 255, A: 255})
	var buf bytes.Buffer
	must(png.Encode(&buf, img))
	return buf.Bytes()
}

// tone is a WAV file: 440 Hz for a tenth of a second, 8 kHz, 8 bits, mono.
func tone() []byte {
	const rate, samples = 8000, 800
	var buf bytes.Buffer
	buf.WriteString("RIFF")
	le := func(v any) { must(binary.Write(&buf, binary.LittleEndian, v)) }
	le(uint32(36 + samples))
	buf.WriteString("WAVEfmt ")
	le(uint32(16))
	le([]uint16{1, 1}) // PCM, mono
	le([]uint32{rate, rate})
	le([]uint16{1, 8})
	buf.WriteString("data")
	le(uint32(samples))
	for i := range samples {
		buf.WriteByte(byte(128 + 100*math.Sin(2*math.Pi*440*float64(i)/rate)))
	}
	return buf.Bytes()
}
