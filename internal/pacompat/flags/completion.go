package flags

// Command is one command of redline, as completion needs to know it.
type Command struct{ Name, Summary string }
