package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"

	oracle "github.com/redline-bench/redline/e2e/tokenizer"
	"github.com/redline-bench/redline/internal/tokenizer"
)

// tokenizerRows compares the CPU time to encode texts with the `tokenizers` package: as many bytes per second of one core,
// or more.
func tokenizerRows(ctx context.Context, e *env) error {
	o, err := oracle.Install(ctx)
	if err != nil {
		e.report.note("the tokenizers package could not be installed: NOT MEASURED: %v", err)
		return nil
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, size := range []struct {
		name         string
		count, times int // texts, and how many are joined into one
	}{{"short texts", 3000, 1}, {"long texts", 30, 100}} {
		file := e.file("tokenizer.jsonl")
		texts, err := tokenizerTexts(ctx, o, file, size.count, size.times)
		if err != nil {
			return err
		}
		for _, name := range []string{"llama3", "qwen2_5", "gemma3", "deepseek_v3", "llama2", "gpt2", "bert"} {
			if err := tokenizerRow(ctx, e, o, name, size.name, texts, file); err != nil {
				return err
			}
			e.progress("%s, %s", name, size.name)
		}
	}
	return nil
}

// tokenizerTexts writes texts to a file, several joined into one, and returns them.
func tokenizerTexts(ctx context.Context, o *oracle.Oracle, file string, count, times int) ([]string, error) {
	data, err := o.Texts(ctx, count*times, 7)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	texts := make([]string, count)
	for i := range count * times {
		var s string
		if err := d.Decode(&s); err != nil {
			return nil, err
		}
		texts[i%count] += s
	}
	var b strings.Builder
	for _, s := range texts {
		line, err := json.Marshal(s)
		if err != nil {
			return nil, err
		}
		b.Write(line)
		b.WriteByte('\n')
	}
	return texts, os.WriteFile(file, []byte(b.String()), 0o600)
}

func tokenizerRow(ctx context.Context, e *env, o *oracle.Oracle, name, kind string, texts []string, file string) error {
	tok, err := tokenizer.Load(o.Model(name))
	if err != nil {
		return err
	}
	size := 0
	for _, s := range texts {
		size += len(s)
	}
	var ids []int
	best := time.Duration(1 << 62)
	for range e.rounds {
		begin := cpuTime()
		for _, s := range texts {
			ids = tok.AppendIDs(ids[:0], s, true)
		}
		best = min(best, cpuTime()-begin)
	}
	peer, err := o.EncodeTime(ctx, name, file, e.rounds)
	if err != nil {
		return fmt.Errorf("tokenizers: %w", err)
	}
	work := fmt.Sprintf("tokenize, %s, %s", name, kind)
	ours := row{Work: work, Tool: "redline", Figure: float64(size) / best.Seconds() / 1e6, Unit: "MB/s of CPU"}
	theirs := row{Work: work, Tool: "tokenizers", Figure: float64(size) / peer / 1e6, Unit: "MB/s of CPU"}
	ours.judge(atLeast(1, "× tokenizers"), ours.Figure/theirs.Figure)
	e.report.add(ours, theirs)
	return nil
}

// cpuTime is what this process has used.
func cpuTime() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
