// Package kernels has the CUDA kernels, and a Queue that launches them on a stream: a method for each, on
// slices of device memory, which Go never touches.
//
// They are written in CUDA C, in the files *.cu beside this one, for compute capability 7.0 and above.
// make-ptx makes PTX of them, which is committed and embedded, so that a build needs neither a CUDA toolkit
// nor that compiler. What they compute is what comm/vec, plugins/models/nn, plugins/criteria and
// sdk/optimizer compute on the CPU:
//
//   - Element by element, and in the optimizers, each result has the bits of comm/vec with AVX2 or AVX-512,
//     which round as often; so have gathers, scatters, sums of parts and, up to 256 rows, of columns.
//   - Sums over a row are of float64, and in an order that depends on its length alone. So is that of a
//     product on its sizes. There are no atomics: the same call gives the same bits, on any device.
//   - NaN, infinities, -0 and denormals go where they go on the CPU. Which bits a NaN has is not said.
//
// What is written must not overlap what is read, unless a method says so.
//
// Arrays that begin at one place of 16 bytes, and tables whose rows are multiples of 16 bytes that begin
// there, go four elements at a time; others one by one.
package kernels
