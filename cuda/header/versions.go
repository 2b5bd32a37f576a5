package main

// versions are the redirections in the header of CUDA 11.8: from the name that programs call to the name that the
// driver exports.
var versions = map[string]string{
	"cuArray3DCreate":                    "cuArray3DCreate_v2",
	"cuArray3DGetDescriptor":             "cuArray3DGetDescriptor_v2",
	"cuArrayCreate":                      "cuArrayCreate_v2",
	"cuArrayGetDescriptor":               "cuArrayGetDescriptor_v2",
	"cuCtxCreate":                        "cuCtxCreate_v2",
	"cuCtxDestroy":                       "cuCtxDestroy_v2",
	"cuCtxPopCurrent":                    "cuCtxPopCurrent_v2",
	"cuCtxPushCurrent":                   "cuCtxPushCurrent_v2",
	"cuDevicePrimaryCtxRelease":          "cuDevicePrimaryCtxRelease_v2",
	"cuDevicePrimaryCtxReset":            "cuDevicePrimaryCtxReset_v2",
	"cuDevicePrimaryCtxSetFlags":         "cuDevicePrimaryCtxSetFlags_v2",
	"cuDeviceTotalMem":                   "cuDeviceTotalMem_v2",
	"cuEventDestroy":                     "cuEventDestroy_v2",
	"cuGraphInstantiate":                 "cuGraphInstantiate_v2",
	"cuGraphicsResourceGetMappedPointer": "cuGraphicsResourceGetMappedPointer_v2",
	"cuGraphicsResourceSetMapFlags":      "cuGraphicsResourceSetMapFlags_v2",
	"cuIpcOpenMemHandle":                 "cuIpcOpenMemHandle_v2",
	"cuLinkAddData":                      "cuLinkAddData_v2",
	"cuLinkAddFile":                      "cuLinkAddFile_v2",
	"cuLinkCreate":                       "cuLinkCreate_v2",
	"cuMemAlloc":                         "cuMemAlloc_v2",
	"cuMemAllocHost":                     "cuMemAllocHost_v2",
	"cuMemAllocPitch":                    "cuMemAllocPitch_v2",
	"cuMemFree":                          "cuMemFree_v2",
	"cuMemGetAddressRange":               "cuMemGetAddressRange_v2",
	"cuMemGetInfo":                       "cuMemGetInfo_v2",
	"cuMemHostGetDevicePointer":          "cuMemHostGetDevicePointer_v2",
	"cuMemHostRegister":                  "cuMemHostRegister_v2",
	"cuMemcpy2D":                         "cuMemcpy2D_v2",
	"cuMemcpy2DAsync":                    "cuMemcpy2DAsync_v2",
	"cuMemcpy2DUnaligned":                "cuMemcpy2DUnaligned_v2",
	"cuMemcpy3D":                         "cuMemcpy3D_v2",
	"cuMemcpy3DAsync":                    "cuMemcpy3DAsync_v2",
	"cuMemcpyAtoA":                       "cuMemcpyAtoA_v2",
	"cuMemcpyAtoD":                       "cuMemcpyAtoD_v2",
	"cuMemcpyAtoH":                       "cuMemcpyAtoH_v2",
	"cuMemcpyAtoHAsync":                  "cuMemcpyAtoHAsync_v2",
	"cuMemcpyDtoA":                       "cuMemcpyDtoA_v2",
	"cuMemcpyDtoD":                       "cuMemcpyDtoD_v2",
	"cuMemcpyDtoDAsync":                  "cuMemcpyDtoDAsync_v2",
	"cuMemcpyDtoH":                       "cuMemcpyDtoH_v2",
	"cuMemcpyDtoHAsync":                  "cuMemcpyDtoHAsync_v2",
	"cuMemcpyHtoA":                       "cuMemcpyHtoA_v2",
	"cuMemcpyHtoAAsync":                  "cuMemcpyHtoAAsync_v2",
	"cuMemcpyHtoD":                       "cuMemcpyHtoD_v2",
	"cuMemcpyHtoDAsync":                  "cuMemcpyHtoDAsync_v2",
	"cuMemsetD16":                        "cuMemsetD16_v2",
	"cuMemsetD2D16":                      "cuMemsetD2D16_v2",
	"cuMemsetD2D32":                      "cuMemsetD2D32_v2",
	"cuMemsetD2D8":                       "cuMemsetD2D8_v2",
	"cuMemsetD32":                        "cuMemsetD32_v2",
	"cuMemsetD8":                         "cuMemsetD8_v2",
	"cuModuleGetGlobal":                  "cuModuleGetGlobal_v2",
	"cuStreamBeginCapture":               "cuStreamBeginCapture_v2",
	"cuStreamDestroy":                    "cuStreamDestroy_v2",
	"cuTexRefGetAddress":                 "cuTexRefGetAddress_v2",
	"cuTexRefSetAddress":                 "cuTexRefSetAddress_v2",
	"cuTexRefSetAddress2D":               "cuTexRefSetAddress2D_v3",
}

// exported returns the driver's name for a function.
func exported(name string) string {
	if later, ok := versions[name]; ok {
		return later
	}
	return name
}
