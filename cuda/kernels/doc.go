// Package kernels provides the CUDA kernels, and a Queue that launches them on a stream. The queue has a method for
// each kernel. The method's arguments are slices of device memory, which Go never accesses.
//
// The kernels are written in CUDA C, in the files *.cu of this folder, for compute capability 7.0 and above.
// make-ptx compiles them to PTX, which is committed and embedded, so that a build needs neither a CUDA toolkit nor
// a CUDA compiler. The kernels compute the same as comm/vec, plugins/models/nn, plugins/criteria and sdk/optimizer
// on the CPU:
//
//   - Element by element, and in the optimizers, each result has the bits of comm/vec with AVX2 or AVX-512,
//     which round at the same places. The same holds for gathers, scatters, sums of parts and, up to 256 rows,
//     sums of columns.
//   - Sums over a row use float64, in an order that depends only on the row's length. The order of a product's sums
//     depends only on its sizes. There are no atomics: the same call gives the same bits, on any device.
//   - NaN, infinities, -0 and denormals go where they go on the CPU. The bits of a NaN are unspecified.
//
// An output must not overlap an input, unless a method allows it.
//
// Kernels process four elements at a time if all arrays have the same alignment relative to 16 bytes; for tables,
// the rows must also be multiples of 16 bytes and start aligned. Otherwise, they process single elements.
package kernels
