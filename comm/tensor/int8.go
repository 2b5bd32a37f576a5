package tensor

// int8Element has no sums: such elements carry payloads.
var int8Element = element{bytes: 1}
