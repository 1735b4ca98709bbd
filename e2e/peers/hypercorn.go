package peers

import (
	"context"
	"path/filepath"
)

// hypercornPackages are an ASGI server that speaks HTTP/2 with and without TLS, and what it needs.
var hypercornPackages = []string{
	"hypercorn==0.18.0", "h2==4.4.1", "hpack==4.2.0", "hyperframe==6.1.0", "h11==0.16.0", "priority==2.0.0", "wsproto==1.3.2",
}

// InstallHypercorn makes a virtual environment with hypercorn in the user's cache, once, and returns its folder.
func InstallHypercorn(ctx context.Context) (string, error) {
	cache, err := CacheDir()
	if err != nil {
		return "", err
	}
	return venv(ctx, filepath.Join(cache, "hypercorn-0.18.0"), hypercornPackages...)
}
