// Command pictures makes the pictures of the report page in the documentation: it opens a page in Chromium and writes what a
// reader sees at the top of it, wide in light and dark colors, and narrow.
//
//	pictures PAGE.html FOLDER
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/redline-bench/redline/e2e/peers"
)

// picture is one file: the top of the page at a width, in a color scheme.
type picture struct {
	name   string
	width  int
	scheme string
}

// height is that of every picture, in pixels.
const height = 1330

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: pictures PAGE.html FOLDER")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1) //nolint:gocritic // stop only ends the watch of signals
	}
}

func run(ctx context.Context, page, folder string) error {
	path, err := peers.InstallChromium(ctx)
	if err != nil {
		return err
	}
	page, err = filepath.Abs(page)
	if err != nil {
		return err
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.WSURLReadTimeout(time.Minute), chromedp.Flag("hide-scrollbars", true))
	alloc, stop := chromedp.NewExecAllocator(ctx, opts...)
	defer stop()
	for _, p := range []picture{{"report.png", 1200, "light"}, {"report-dark.png", 1200, "dark"}, {"report-phone.png", 400, "light"}} {
		png, err := p.take(alloc, "file://"+page)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		if err := os.WriteFile(filepath.Join(folder, p.name), png, 0o644); err != nil {
			return err
		}
		fmt.Println(filepath.Join(folder, p.name))
	}
	return nil
}

// take opens the page and returns its picture.
func (p *picture) take(alloc context.Context, url string) ([]byte, error) {
	ctx, end := chromedp.NewContext(alloc)
	defer end()
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(int64(p.width), height)); err != nil {
		return nil, err
	}
	_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: p.scheme}},
	})
	if err != nil {
		return nil, err
	}
	if err := chromedp.Do(ctx, chromedp.Navigate(url)); err != nil {
		return nil, err
	}
	if err := p.drawn(ctx); err != nil {
		return nil, err
	}
	return chromedp.Run(ctx, chromedp.CaptureScreenshot())
}

// drawn waits until the charts fill their places.
func (p *picture) drawn(ctx context.Context) error {
	const filled = `(() => {
		const all = [...document.querySelectorAll(".host canvas")];
		return all.length > 0 && all.every((c) => Math.abs(c.getBoundingClientRect().width - c.closest(".host").clientWidth) < 2);
	})()`
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	for {
		ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool](filled))
		if ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the charts are not drawn: %w", ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}
