// Command pictures takes pictures of a page in Chromium.
//
//	pictures PAGE FOLDER NAME:WIDTH:SCHEME[:PART] ...
//
// PAGE is a file or an http address. Each picture becomes FOLDER/NAME.png, WIDTH pixels wide, in the color scheme light or
// dark. It shows the top of the page, or PART of it: the id of a section, or "all" for the whole page.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/redline-bench/redline/e2e/peers"
)

// picture is one file: the page at a width, in a color scheme.
type picture struct {
	name   string
	width  int64
	scheme string
	part   string // id of a section, "all", or empty for the top of the page
}

// height is that of a picture of the page's top, in pixels.
const height = 1330

func main() {
	if len(os.Args) < 4 {
		fmt.Fprintln(os.Stderr, "usage: pictures PAGE FOLDER NAME:WIDTH:SCHEME[:PART] ...")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1], os.Args[2], os.Args[3:]); err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1) //nolint:gocritic // stop only ends the watch of signals
	}
}

func run(ctx context.Context, page, folder string, wanted []string) error {
	list, err := parse(wanted)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(page, "http://") {
		if page, err = filepath.Abs(page); err != nil {
			return err
		}
		page = "file://" + page
	}
	path, err := peers.InstallChromium(ctx)
	if err != nil {
		return err
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.WSURLReadTimeout(time.Minute), chromedp.Flag("hide-scrollbars", true))
	alloc, stop := chromedp.NewExecAllocator(ctx, opts...)
	defer stop()
	browser, end := chromedp.NewContext(alloc)
	defer end()
	if err := chromedp.Do(browser); err != nil {
		return fmt.Errorf("start chromium: %w", err)
	}
	for _, p := range list {
		png, err := p.take(browser, page)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		file := filepath.Join(folder, p.name+".png")
		if err := os.WriteFile(file, png, 0o644); err != nil {
			return err
		}
		fmt.Println(file)
	}
	return nil
}

func parse(wanted []string) ([]picture, error) {
	var list []picture
	for _, w := range wanted {
		f := strings.SplitN(w, ":", 4)
		if len(f) < 3 {
			return nil, fmt.Errorf("%q is not NAME:WIDTH:SCHEME[:PART]", w)
		}
		width, err := strconv.ParseInt(f[1], 10, 32)
		if err != nil {
			return nil, fmt.Errorf("%q has no width: %w", w, err)
		}
		p := picture{name: f[0], width: width, scheme: f[2]}
		if len(f) == 4 {
			p.part = f[3]
		}
		list = append(list, p)
	}
	return list, nil
}

// take opens the page in a tab of its own and returns its picture.
func (p *picture) take(browser context.Context, url string) ([]byte, error) {
	ctx, end := chromedp.NewContext(browser)
	defer end()
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(p.width, height)); err != nil {
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
	if err := drawn(ctx); err != nil {
		return nil, err
	}
	switch p.part {
	case "":
		return chromedp.Run(ctx, chromedp.CaptureScreenshot())
	case "all":
		return chromedp.Run(ctx, chromedp.FullScreenshot(100))
	}
	margin := fmt.Sprintf(`document.getElementById(%q).style.padding = "0 16px 16px", true`, p.part)
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[bool](margin)); err != nil {
		return nil, err
	}
	if err := drawn(ctx); err != nil {
		return nil, err
	}
	return chromedp.Run(ctx, chromedp.Screenshot(chromedp.CSS("#"+p.part)))
}

// drawn waits until the charts fill their places.
func drawn(ctx context.Context) error {
	const filled = `(() => {
		const all = [...document.querySelectorAll(".host canvas")];
		return document.readyState === "complete" && all.every((c) => Math.abs(c.getBoundingClientRect().width - c.closest(".host").clientWidth) < 2);
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
