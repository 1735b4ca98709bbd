package secret

import (
	"encoding/json"
	"net/url"
	"strings"

	"github.com/redline-bench/redline/internal/convert"
)

// Public returns the value of an option with its secret masked, for a secret of any length.
func Public(k Kind, text string) string {
	name, _, named := strings.Cut(text, ":")
	switch {
	case k == Whole, k == Header && !named:
		return Mask
	case k == Header && strings.HasPrefix(strings.TrimSpace(text), "{"):
		return publicHeaders(text)
	case k == Header && !Harmless(name):
		return name + ": " + Mask
	case k == URL:
		return strings.Join(PublicURLs(strings.Split(text, ",")), ",")
	case k == Option && !strings.HasPrefix(text, "-"):
		return Mask
	case k == Option:
		if name, _, ok := strings.Cut(text, "="); ok && Sensitive(name) {
			return name + "=" + Mask
		}
	case k == Pair && named && !strings.HasPrefix(text, "{") && SensitivePair(name, text[len(name)+1:]):
		return name + ":" + Mask
	case k == Typed:
		if pair, kind, ok := cutType(text); ok {
			return Public(Pair, pair) + ":" + kind
		}
		return Public(Pair, text)
	}
	return text
}

// publicHeaders masks the values of a JSON object of headers.
func publicHeaders(text string) string {
	list, ok := headerObject(text)
	if !ok {
		return Mask
	}
	for name := range list {
		if !Harmless(name) {
			list[name] = Mask
		}
	}
	b, err := json.Marshal(list)
	if err != nil {
		return Mask
	}
	return string(b)
}

// PublicURLs masks the secrets of URLs.
func PublicURLs(list []string) []string { return convert.All(list, PublicURL) }

// PublicURL masks the user info and query of a URL. In an address without a scheme, the user info is the part before @.
func PublicURL(address string) string {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok {
		scheme, rest = "", address
	}
	if u, err := url.Parse("//" + rest); err == nil {
		if u.User != nil {
			u.User = url.User(Mask)
		}
		query := u.RawQuery != ""
		u.RawQuery, u.Fragment = "", ""
		rest = strings.ReplaceAll(strings.TrimPrefix(u.String(), "//"), url.QueryEscape(Mask), Mask)
		if query {
			rest += "?" + Mask
		}
	} else {
		if i := strings.LastIndexByte(rest, '@'); i >= 0 {
			rest = Mask + rest[i:]
		}
		if path, _, asks := strings.Cut(rest, "?"); asks {
			rest = path + "?" + Mask
		}
	}
	if ok {
		return scheme + "://" + rest
	}
	return rest
}
