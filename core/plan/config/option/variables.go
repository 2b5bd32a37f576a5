package option

// SSHVariable is how psbench calls ssh, words with spaces between.
const SSHVariable = "PSBENCH_SSH"

// OverrideVariable makes a process one that is alone, whoever started it.
const OverrideVariable = "PSBENCH_ALONE"

// What a user gives all tasks of a launcher that does not let them talk.
const (
	SecretVariable = "PSBENCH_SECRET" // #nosec G101 -- the name of a variable
	CoreVariable   = "PSBENCH_CORE"   // HOST:PORT at which the first task listens
)

// What a manifest can say of its pods, as Kubernetes does not.
const (
	TasksVariable = "PSBENCH_TASKS"
	TaskVariable  = "PSBENCH_TASK"
)

// StartVariables lists the variables that begin like options but say how a process was started.
func StartVariables() []string {
	return []string{OverrideVariable, TasksVariable, TaskVariable, SecretVariable, CoreVariable, SSHVariable}
}
