package target

import "testing"

func TestMetricsPage(t *testing.T) {
	f := func(address, page, want string) {
		t.Helper()
		if got := MetricsPage(address, page); got != want {
			t.Errorf("the page of %q is %q, want %q", address, got, want)
		}
	}
	f("gpu:8000", "", "http://gpu:8000/metrics")
	f("https://gpu/v1", "", "https://gpu/metrics")
	f("gpu:8001", ":8002/metrics", "http://gpu:8002/metrics")
	f("grpcs://gpu:8001", ":8002/metrics", "http://gpu:8002/metrics")
	f("https://someone:word@gpu:8000/triton?key=1", ":8002/metrics", "http://someone:word@gpu:8002/metrics")
	f("[::1]:8500", ":8501/monitoring/prometheus/metrics", "http://[::1]:8501/monitoring/prometheus/metrics")
}
