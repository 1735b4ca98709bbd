// Package tokenize is `redline tokenize`: it converts texts to token ids with a model's own tokenizer.
package tokenize

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/tokenizer"
)

// Run is `redline tokenize`.
func Run(p *command.IO, args []string) (int, error) {
	var o options
	rest, err := command.Parse(&option.Table{Rows: o.rows()}, args, 0, len(args), "")
	if err == nil {
		err = o.check(rest)
	}
	if err != nil {
		return 0, err
	}
	t, err := tokenizer.Load(o.path)
	if err == nil {
		err = answerLines(t, &o, p.Stdin, p.Stdout)
	}
	return 0, err
}

// options is the command line.
type options struct {
	path      string
	noSpecial bool
	decode    bool
	count     bool
	chat      bool
	render    bool
	prompt    bool
}

func (o *options) rows() []option.Row {
	return option.Group("Options", []option.Row{
		{Long: "tokenizer", Short: 't', Arg: "FILE|DIR", Help: "folder of a model, or a tokenizer.json, .tiktoken or SentencePiece .model file", To: option.Text(&o.path)},
		{Long: "no-special", Help: "add no special tokens to a text; with --decode, omit special tokens", To: option.Switch(&o.noSpecial)},
		{Long: "decode", Help: "read arrays of ids and print JSON strings", To: option.Switch(&o.decode)},
		{Long: "count", Help: "print the number of ids instead of the ids", To: option.Switch(&o.count)},
		{Long: "chat", Help: "read conversations: JSON arrays of messages, or objects with messages, tools and other fields that the model's chat " +
			"template uses. The template adds the special tokens", To: option.Switch(&o.chat)},
		{Long: "generation-prompt", Help: "with --chat, end with the start of the response, as servers do", To: option.Switch(&o.prompt)},
		{Long: "render", Help: "with --chat, print the text of each conversation as a JSON string", To: option.Switch(&o.render)},
	})
}

// Command describes the command.
func Command() option.Command {
	return option.Command{Rows: new(options).rows(), Intro: `Usage: redline tokenize --tokenizer DIR [options] < texts.jsonl

Reads one JSON string per line from standard input and prints its token ids as a JSON array on one line. The ids are
those of Hugging Face's package 'tokenizers'. docs/tokenizers.md has more.
`, Examples: `  echo '"Hello world"' | redline tokenize --tokenizer ./Llama-3-8B
  redline tokenize -t tokenizer.json --count < prompts.jsonl
  echo '[9906, 1917]' | redline tokenize -t ./Llama-3-8B --decode
  echo '[{"role":"user","content":"Hi"}]' | redline tokenize -t ./Llama-3-8B --chat --render
`}
}

func (o *options) check(rest []string) error {
	switch {
	case len(rest) > 0:
		return command.Usage(fmt.Errorf("unexpected argument %q; texts are read from standard input", rest[0]))
	case o.path == "":
		return command.Usage(errors.New("name the tokenizer with --tokenizer DIR"))
	case o.decode && (o.count || o.chat), o.count && o.render:
		return command.Usage(errors.New("--decode excludes --count and --chat, and --count excludes --render"))
	case (o.render || o.prompt) && !o.chat:
		return command.Usage(errors.New("--render and --generation-prompt need --chat"))
	}
	return nil
}

// answerLines writes one line to out for every line of in.
func answerLines(t *tokenizer.Tokenizer, o *options, in io.Reader, out io.Writer) error {
	r, w := bufio.NewReaderSize(in, 1<<20), bufio.NewWriterSize(out, 1<<16)
	l := &lineTokenizer{t: t, o: o}
	var long []byte
	for n := 1; ; n++ {
		line, err := r.ReadSlice('\n')
		for long = long[:0]; errors.Is(err, bufio.ErrBufferFull); {
			long = append(long, line...)
			line, err = r.ReadSlice('\n')
		}
		if len(long) > 0 {
			long = append(long, line...)
			line = long
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return errors.Join(fmt.Errorf("standard input: %w", err), w.Flush())
		}
		if err != nil && len(line) == 0 {
			return w.Flush()
		}
		answer, bad := l.answer(bytes.TrimRight(line, "\r\n"))
		if bad == nil {
			bad = t.Err()
		}
		if bad != nil {
			return errors.Join(fmt.Errorf("line %d: %w", n, bad), w.Flush())
		}
		if _, err := w.Write(answer); err != nil {
			return err
		}
		// A user who types, or a program that waits for each line, gets the output at once.
		if r.Buffered() == 0 {
			if err := w.Flush(); err != nil {
				return err
			}
		}
	}
}

// lineTokenizer converts one line at a time.
type lineTokenizer struct {
	t   *tokenizer.Tokenizer
	o   *options
	ids []int
	buf []byte
}

// answer returns the output line for an input line. It is valid until the next call.
func (l *lineTokenizer) answer(line []byte) ([]byte, error) {
	l.buf = l.buf[:0]
	if l.o.decode {
		var err error
		if l.ids, err = readIDs(l.ids[:0], line); err != nil {
			return nil, err
		}
		text, err := plainJSON(l.t.Decode(l.ids, l.o.noSpecial))
		return append(l.buf, text...), err
	}
	text, err := l.text(line)
	if err != nil {
		return nil, err
	}
	if l.o.render {
		return plainJSON(text)
	}
	l.ids = l.t.AppendIDs(l.ids[:0], text, !l.o.noSpecial && !l.o.chat)
	if l.o.count {
		l.buf = strconv.AppendInt(l.buf, int64(len(l.ids)), 10)
		return append(l.buf, '\n'), nil
	}
	l.buf = append(l.buf, '[')
	for i, id := range l.ids {
		if i > 0 {
			l.buf = append(l.buf, ',')
		}
		l.buf = strconv.AppendInt(l.buf, int64(id), 10)
	}
	return append(l.buf, ']', '\n'), nil
}

// text returns the text that a line asks to encode.
func (l *lineTokenizer) text(line []byte) (string, error) {
	if l.o.chat {
		return l.t.Render(line, l.o.prompt)
	}
	var text *string
	if err := json.Unmarshal(line, &text); err != nil || text == nil {
		return "", invalidLine(line, "JSON string", err)
	}
	return *text, nil
}

// plainJSON encodes a string as a line of JSON, without HTML escapes.
func plainJSON(s string) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(s)
	return b.Bytes(), err
}

// readIDs appends the ids of a JSON array to dst. An id fits 32 bits, as in the package 'tokenizers'.
func readIDs(dst []int, line []byte) ([]int, error) {
	var list []*uint32 // pointers, because null would decode as 0
	if err := json.Unmarshal(line, &list); err != nil || list == nil {
		return dst, invalidLine(line, "JSON array of ids", err)
	}
	for _, id := range list {
		if id == nil {
			return dst, invalidLine(line, "JSON array of ids", nil)
		}
		dst = append(dst, int(*id))
	}
	return dst, nil
}

// invalidLine returns an error that says what the line should be, and where its JSON is invalid.
func invalidLine(line []byte, what string, err error) error {
	if _, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("%s is not a %s: %w", excerpt(line), what, err)
	}
	return fmt.Errorf("%s is not a %s", excerpt(line), what)
}

// excerpt returns the beginning of a line, for a message.
func excerpt(line []byte) string {
	const most = 40
	if len(line) == 0 {
		return "an empty line"
	}
	if len(line) > most {
		return strconv.Quote(string(line[:most])) + "..."
	}
	return strconv.Quote(string(line))
}
