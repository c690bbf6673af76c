package tenon

import (
	"errors"
	"runtime"
	"strings"
)

// splitCommand splits a command line into words as a POSIX shell does with
// blanks, quotes and backslashes; nothing is expanded. On Windows a backslash
// is part of a path.
func splitCommand(line string) ([]string, error) {
	return splitWords(line, runtime.GOOS != "windows")
}

func splitWords(line string, escapes bool) ([]string, error) {
	var (
		words  []string
		word   strings.Builder
		inWord bool
		quote  rune
		escape bool
	)
	for _, r := range line {
		switch {
		case escape:
			if quote == '"' && !strings.ContainsRune("\"\\$`", r) {
				word.WriteByte('\\')
			}
			word.WriteRune(r)
			escape = false
		case r == '\\' && escapes && quote != '\'':
			escape, inWord = true, true
		case quote != 0:
			if r == quote {
				quote = 0
				continue
			}
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, inWord = r, true
		case r == ' ' || r == '\t' || r == '\n' || r == '\r':
			if inWord {
				words = append(words, word.String())
				word.Reset()
			}
			inWord = false
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if quote != 0 || escape {
		return nil, errors.New("a quote or a backslash at the end is open")
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}
