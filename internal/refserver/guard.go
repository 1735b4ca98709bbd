package refserver

import (
	"context"
	"crypto/subtle"
	"net/http"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
)

// guard accepts only requests with the bearer token, or with the token as an API key; without a token it accepts all.
func guard(token string, next http.Handler) http.Handler {
	if token == "" {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !same(r.Header.Get("Authorization"), "Bearer "+token) && !same(r.Header.Get("X-Api-Key"), token) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, `{"error":"unauthorized: present the bearer token"}`, http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// guardGRPC is the guard of the gRPC port. It checks a call before anything else.
func guardGRPC(token string) []grpc.ServerOption {
	if token == "" {
		return nil
	}
	return []grpc.ServerOption{grpc.InTapHandle(func(ctx context.Context, info *tap.Info) (context.Context, error) {
		for _, v := range info.Header.Get("authorization") {
			if same(v, "Bearer "+token) {
				return ctx, nil
			}
		}
		return nil, status.Error(codes.Unauthenticated, "unauthorized: present the bearer token")
	})}
}
