package option

// SSHVariable contains the command to run instead of ssh, as words separated by spaces.
const SSHVariable = "PSBENCH_SSH"

// OverrideVariable makes a process run alone, even if a launcher started it as one of several tasks.
const OverrideVariable = "PSBENCH_ALONE"

// A user sets these variables for all tasks if the launcher offers no way to communicate.
const (
	SecretVariable = "PSBENCH_SECRET" // #nosec G101 -- the name of a variable
	CoreVariable   = "PSBENCH_CORE"   // HOST:PORT on which the first task listens
)

// A manifest sets these variables to describe its pods, because Kubernetes does not describe them.
const (
	TasksVariable = "PSBENCH_TASKS"
	TaskVariable  = "PSBENCH_TASK"
)

// StartVariables lists variables that look like options but say how a process was started.
func StartVariables() []string {
	return []string{OverrideVariable, TasksVariable, TaskVariable, SecretVariable, CoreVariable, SSHVariable}
}
