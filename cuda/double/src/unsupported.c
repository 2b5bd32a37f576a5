// Calls that the double does not implement. These calls exist so that any program linked against the driver starts.
// Each reports that it is unsupported.
#include "double.h"

#define LACKS(name)                   \
    API CUresult name(void);          \
    API CUresult name(void) { return unsupported(#name); }

// The entry points of CUDA 2 and other old versions, without _v2 in their names and with other parameter sizes. A
// program that calls one was compiled against a header without the definitions of the new names.
#define OLD(name)                     \
    API CUresult name(void);          \
    API CUresult name(void) { return outdated(#name); }

LACKS(cuArray3DCreate_v2) LACKS(cuArray3DGetDescriptor_v2) LACKS(cuArrayCreate_v2) LACKS(cuArrayDestroy) LACKS(cuArrayGetDescriptor_v2)
LACKS(cuCtxAttach) LACKS(cuCtxDetach) LACKS(cuCtxGetSharedMemConfig) LACKS(cuCtxResetPersistingL2Cache) LACKS(cuCtxSetSharedMemConfig)
LACKS(cuDestroyExternalMemory) LACKS(cuDestroyExternalSemaphore) LACKS(cuDeviceComputeCapability) LACKS(cuDeviceGetByPCIBusId)
LACKS(cuDeviceGetNvSciSyncAttributes) LACKS(cuDeviceGetProperties) LACKS(cuExternalMemoryGetMappedBuffer)
LACKS(cuExternalMemoryGetMappedMipmappedArray) LACKS(cuFuncGetModule) LACKS(cuFuncSetBlockShape) LACKS(cuFuncSetSharedMemConfig)
LACKS(cuFuncSetSharedSize) LACKS(cuGetExportTable) LACKS(cuGraphAddChildGraphNode) LACKS(cuGraphAddDependencies)
LACKS(cuGraphAddEmptyNode) LACKS(cuGraphAddHostNode) LACKS(cuGraphAddKernelNode) LACKS(cuGraphAddMemcpyNode) LACKS(cuGraphAddMemsetNode)
LACKS(cuGraphChildGraphNodeGetGraph) LACKS(cuGraphClone) LACKS(cuGraphDestroyNode) LACKS(cuGraphExecHostNodeSetParams)
LACKS(cuGraphExecKernelNodeSetParams) LACKS(cuGraphExecMemcpyNodeSetParams) LACKS(cuGraphExecMemsetNodeSetParams) LACKS(cuGraphExecUpdate)
LACKS(cuGraphGetEdges) LACKS(cuGraphGetRootNodes) LACKS(cuGraphHostNodeGetParams) LACKS(cuGraphHostNodeSetParams)
LACKS(cuGraphKernelNodeCopyAttributes) LACKS(cuGraphKernelNodeGetAttribute) LACKS(cuGraphKernelNodeGetParams)
LACKS(cuGraphKernelNodeSetAttribute) LACKS(cuGraphKernelNodeSetParams) LACKS(cuGraphMemcpyNodeGetParams) LACKS(cuGraphMemcpyNodeSetParams)
LACKS(cuGraphMemsetNodeGetParams) LACKS(cuGraphMemsetNodeSetParams) LACKS(cuGraphNodeFindInClone) LACKS(cuGraphNodeGetDependencies)
LACKS(cuGraphNodeGetDependentNodes) LACKS(cuGraphNodeGetType) LACKS(cuGraphRemoveDependencies) LACKS(cuGraphicsMapResources)
LACKS(cuGraphicsResourceGetMappedMipmappedArray) LACKS(cuGraphicsResourceGetMappedPointer_v2) LACKS(cuGraphicsResourceSetMapFlags_v2)
LACKS(cuGraphicsSubResourceGetMappedArray) LACKS(cuGraphicsUnmapResources) LACKS(cuGraphicsUnregisterResource)
LACKS(cuImportExternalMemory) LACKS(cuImportExternalSemaphore) LACKS(cuLaunch) LACKS(cuLaunchCooperativeKernel)
LACKS(cuLaunchCooperativeKernelMultiDevice) LACKS(cuLaunchGrid) LACKS(cuLaunchGridAsync) LACKS(cuLinkAddData_v2) LACKS(cuLinkAddFile_v2)
LACKS(cuLinkComplete) LACKS(cuLinkCreate_v2) LACKS(cuLinkDestroy) LACKS(cuMemAddressFree) LACKS(cuMemAddressReserve) LACKS(cuMemAdvise)
LACKS(cuMemAllocManaged) LACKS(cuMemCreate) LACKS(cuMemExportToShareableHandle) LACKS(cuMemGetAccess) LACKS(cuMemGetAllocationGranularity)
LACKS(cuMemGetAllocationPropertiesFromHandle) LACKS(cuMemImportFromShareableHandle) LACKS(cuMemMap) LACKS(cuMemPrefetchAsync)
LACKS(cuMemRangeGetAttribute) LACKS(cuMemRangeGetAttributes) LACKS(cuMemRelease) LACKS(cuMemRetainAllocationHandle) LACKS(cuMemSetAccess)
LACKS(cuMemUnmap) LACKS(cuMemcpy3DAsync_v2) LACKS(cuMemcpy3DPeer) LACKS(cuMemcpy3DPeerAsync) LACKS(cuMemcpy3D_v2) LACKS(cuMemcpyAtoA_v2)
LACKS(cuMemcpyAtoD_v2) LACKS(cuMemcpyAtoHAsync_v2) LACKS(cuMemcpyAtoH_v2) LACKS(cuMemcpyDtoA_v2) LACKS(cuMemcpyHtoAAsync_v2)
LACKS(cuMemcpyHtoA_v2) LACKS(cuMemcpyPeer) LACKS(cuMemcpyPeerAsync) LACKS(cuMipmappedArrayCreate) LACKS(cuMipmappedArrayDestroy)
LACKS(cuMipmappedArrayGetLevel) LACKS(cuModuleGetSurfRef) LACKS(cuModuleGetTexRef) LACKS(cuModuleLoadFatBinary)
LACKS(cuOccupancyAvailableDynamicSMemPerBlock) LACKS(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)
LACKS(cuOccupancyMaxPotentialBlockSize) LACKS(cuOccupancyMaxPotentialBlockSizeWithFlags) LACKS(cuParamSetSize) LACKS(cuParamSetTexRef)
LACKS(cuParamSetf) LACKS(cuParamSeti) LACKS(cuParamSetv) LACKS(cuPointerGetAttribute) LACKS(cuPointerGetAttributes)
LACKS(cuPointerSetAttribute) LACKS(cuSignalExternalSemaphoresAsync) LACKS(cuStreamAddCallback) LACKS(cuStreamAttachMemAsync)
LACKS(cuStreamBatchMemOp) LACKS(cuStreamCopyAttributes) LACKS(cuStreamGetAttribute) LACKS(cuStreamGetCaptureInfo)
LACKS(cuStreamSetAttribute) LACKS(cuStreamWaitValue32) LACKS(cuStreamWaitValue64) LACKS(cuStreamWriteValue32) LACKS(cuStreamWriteValue64)
LACKS(cuSurfObjectCreate) LACKS(cuSurfObjectDestroy) LACKS(cuSurfObjectGetResourceDesc) LACKS(cuSurfRefGetArray) LACKS(cuSurfRefSetArray)
LACKS(cuTexObjectCreate) LACKS(cuTexObjectDestroy) LACKS(cuTexObjectGetResourceDesc) LACKS(cuTexObjectGetResourceViewDesc)
LACKS(cuTexObjectGetTextureDesc) LACKS(cuTexRefCreate) LACKS(cuTexRefDestroy) LACKS(cuTexRefGetAddressMode) LACKS(cuTexRefGetAddress_v2)
LACKS(cuTexRefGetArray) LACKS(cuTexRefGetBorderColor) LACKS(cuTexRefGetFilterMode) LACKS(cuTexRefGetFlags) LACKS(cuTexRefGetFormat)
LACKS(cuTexRefGetMaxAnisotropy) LACKS(cuTexRefGetMipmapFilterMode) LACKS(cuTexRefGetMipmapLevelBias) LACKS(cuTexRefGetMipmapLevelClamp)
LACKS(cuTexRefGetMipmappedArray) LACKS(cuTexRefSetAddress2D_v3) LACKS(cuTexRefSetAddressMode) LACKS(cuTexRefSetAddress_v2)
LACKS(cuTexRefSetArray) LACKS(cuTexRefSetBorderColor) LACKS(cuTexRefSetFilterMode) LACKS(cuTexRefSetFlags) LACKS(cuTexRefSetFormat)
LACKS(cuTexRefSetMaxAnisotropy) LACKS(cuTexRefSetMipmapFilterMode) LACKS(cuTexRefSetMipmapLevelBias) LACKS(cuTexRefSetMipmapLevelClamp)
LACKS(cuTexRefSetMipmappedArray) LACKS(cuWaitExternalSemaphoresAsync)

OLD(cuCtxCreate) OLD(cuCtxDestroy) OLD(cuCtxPopCurrent) OLD(cuCtxPushCurrent) OLD(cuDevicePrimaryCtxRelease) OLD(cuDevicePrimaryCtxReset)
OLD(cuDevicePrimaryCtxSetFlags) OLD(cuDeviceTotalMem) OLD(cuEventDestroy) OLD(cuStreamDestroy) OLD(cuStreamBeginCapture)
OLD(cuGraphInstantiate) OLD(cuIpcOpenMemHandle) OLD(cuMemAlloc) OLD(cuMemAllocHost) OLD(cuMemAllocPitch) OLD(cuMemFree)
OLD(cuMemGetAddressRange) OLD(cuMemGetInfo) OLD(cuMemHostGetDevicePointer) OLD(cuMemHostRegister) OLD(cuMemcpy2D) OLD(cuMemcpy2DAsync)
OLD(cuMemcpy2DUnaligned) OLD(cuMemcpyDtoD) OLD(cuMemcpyDtoDAsync) OLD(cuMemcpyDtoH) OLD(cuMemcpyDtoHAsync) OLD(cuMemcpyHtoD)
OLD(cuMemcpyHtoDAsync) OLD(cuMemsetD16) OLD(cuMemsetD2D16) OLD(cuMemsetD2D32) OLD(cuMemsetD2D8) OLD(cuMemsetD32) OLD(cuMemsetD8)
OLD(cuModuleGetGlobal) OLD(cuLinkCreate) OLD(cuLinkAddData) OLD(cuLinkAddFile) OLD(cuArrayCreate) OLD(cuArrayGetDescriptor)
OLD(cuArray3DCreate) OLD(cuArray3DGetDescriptor) OLD(cuTexRefSetAddress) OLD(cuTexRefGetAddress) OLD(cuTexRefSetAddress2D)
OLD(cuTexRefSetAddress2D_v2) OLD(cuMemcpy3D) OLD(cuMemcpy3DAsync) OLD(cuMemcpyAtoA) OLD(cuMemcpyAtoD) OLD(cuMemcpyAtoH)
OLD(cuMemcpyAtoHAsync) OLD(cuMemcpyDtoA) OLD(cuMemcpyHtoA) OLD(cuMemcpyHtoAAsync)
