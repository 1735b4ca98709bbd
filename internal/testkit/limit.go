package testkit

import "time"

// Limit is how long a test waits for what must come, and how long a program that it starts may run. Only a fault takes so long: on a
// machine whose cores other work uses, what takes a second can take a minute.
const Limit = 5 * time.Minute
