package option

// SSHVariable is the command that replaces ssh: words separated by spaces.
const SSHVariable = "PSBENCH_SSH"

// OverrideVariable makes a process run alone, whichever launcher started it.
const OverrideVariable = "PSBENCH_ALONE"

// Variables that a user gives to all tasks of a launcher without a way to communicate.
const (
	SecretVariable = "PSBENCH_SECRET" // #nosec G101 -- the name of a variable
	CoreVariable   = "PSBENCH_CORE"   // HOST:PORT at which the first task listens
)

// With these variables a manifest describes its pods where Kubernetes does not.
const (
	TasksVariable = "PSBENCH_TASKS"
	TaskVariable  = "PSBENCH_TASK"
)

// StartVariables lists the variables that look like options but say how a process was started.
func StartVariables() []string {
	return []string{OverrideVariable, TasksVariable, TaskVariable, SecretVariable, CoreVariable, SSHVariable}
}
