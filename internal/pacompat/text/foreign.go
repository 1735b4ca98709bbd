package text

import "github.com/redline-bench/redline/internal/service"

// foreignAnswer tells whether the peer speaks another protocol altogether, rather than a broken form of ours: no
// status was ever received from it.
func foreignAnswer(e *service.Error) bool { return e.Code == 0 }
