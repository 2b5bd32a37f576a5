package tensor

// uint8Element has no sums: such elements carry payloads.
var uint8Element = element{bytes: 1}
