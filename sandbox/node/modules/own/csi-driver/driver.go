package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

const nodeKey = "open-terrain.invalid/node"

type driver struct {
	csi.UnimplementedIdentityServer
	csi.UnimplementedControllerServer
	csi.UnimplementedNodeServer
	name, data, node string
	local            bool
	mutex            sync.Mutex
}

// Each volume and each snapshot is a folder; beside it lies a file that describes it.
type record struct {
	Bytes  int64
	Source string
	Node   string
	Made   time.Time
}

func (d *driver) folder(kind, id string) string { return filepath.Join(d.data, kind, id) }

func (d *driver) read(kind, id string) (record, bool) {
	var found record
	text, err := os.ReadFile(d.folder(kind, id) + ".json")
	return found, err == nil && json.Unmarshal(text, &found) == nil
}

func (d *driver) write(kind, id string, what record) error {
	text, err := json.Marshal(what)
	if err != nil {
		return err
	}
	return os.WriteFile(d.folder(kind, id)+".json", text, 0o600)
}

func (d *driver) remove(kind, id string) error {
	if err := os.RemoveAll(d.folder(kind, id)); err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	if err := os.Remove(d.folder(kind, id) + ".json"); err != nil && !os.IsNotExist(err) {
		return status.Error(codes.Internal, err.Error())
	}
	return nil
}

// fill makes a folder, as a copy if there is a source. It appears only when it is whole.
func (d *driver) fill(target, source string) error {
	if _, err := os.Stat(target); err == nil {
		return nil
	}
	draft := target + ".draft"
	if err := os.RemoveAll(draft); err != nil {
		return err
	}
	if source == "" {
		if err := os.MkdirAll(draft, 0o777); err != nil {
			return err
		}
		if err := os.Chmod(draft, 0o777); err != nil {
			return err
		}
	} else {
		if err := os.MkdirAll(filepath.Dir(draft), 0o755); err != nil {
			return err
		}
		output, err := exec.Command("cp", "--archive", "--sparse=always", source, draft).CombinedOutput()
		if err != nil {
			return status.Errorf(codes.Internal, "cannot copy %s: %s", source, output)
		}
	}
	return os.Rename(draft, target)
}

func (d *driver) GetPluginInfo(context.Context, *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	return &csi.GetPluginInfoResponse{Name: d.name, VendorVersion: "1"}, nil
}

func (d *driver) Probe(context.Context, *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	return &csi.ProbeResponse{Ready: wrapperspb.Bool(true)}, nil
}

func (d *driver) GetPluginCapabilities(
	context.Context, *csi.GetPluginCapabilitiesRequest,
) (*csi.GetPluginCapabilitiesResponse, error) {
	services := []csi.PluginCapability_Service_Type{csi.PluginCapability_Service_CONTROLLER_SERVICE}
	if d.local {
		services = append(services, csi.PluginCapability_Service_VOLUME_ACCESSIBILITY_CONSTRAINTS)
	}
	response := &csi.GetPluginCapabilitiesResponse{}
	for _, service := range services {
		response.Capabilities = append(response.Capabilities, &csi.PluginCapability{
			Type: &csi.PluginCapability_Service_{Service: &csi.PluginCapability_Service{Type: service}},
		})
	}
	return response, nil
}

func (d *driver) ControllerGetCapabilities(
	context.Context, *csi.ControllerGetCapabilitiesRequest,
) (*csi.ControllerGetCapabilitiesResponse, error) {
	response := &csi.ControllerGetCapabilitiesResponse{}
	for _, what := range []csi.ControllerServiceCapability_RPC_Type{
		csi.ControllerServiceCapability_RPC_CREATE_DELETE_VOLUME,
		csi.ControllerServiceCapability_RPC_CREATE_DELETE_SNAPSHOT,
		csi.ControllerServiceCapability_RPC_CLONE_VOLUME,
	} {
		response.Capabilities = append(response.Capabilities, &csi.ControllerServiceCapability{
			Type: &csi.ControllerServiceCapability_Rpc{Rpc: &csi.ControllerServiceCapability_RPC{Type: what}},
		})
	}
	return response, nil
}

func (d *driver) CreateVolume(
	_ context.Context, request *csi.CreateVolumeRequest,
) (*csi.CreateVolumeResponse, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	for _, capability := range request.GetVolumeCapabilities() {
		if capability.GetBlock() != nil {
			return nil, status.Error(codes.InvalidArgument, "this driver has no block volumes")
		}
	}
	id := request.GetName()
	source := ""
	if snapshot := request.GetVolumeContentSource().GetSnapshot(); snapshot != nil {
		source = d.folder("snapshots", snapshot.GetSnapshotId())
	} else if volume := request.GetVolumeContentSource().GetVolume(); volume != nil {
		source = d.folder("volumes", volume.GetVolumeId())
	}
	what, found := d.read("volumes", id)
	if !found {
		what = record{Bytes: request.GetCapacityRange().GetRequiredBytes(), Made: time.Now()}
		if d.local {
			what.Node = nodeOf(request.GetAccessibilityRequirements())
		}
		if err := d.fill(d.folder("volumes", id), source); err != nil {
			return nil, status.Error(codes.Internal, err.Error())
		}
		if err := d.write("volumes", id, what); err != nil {
			return nil, status.Error(codes.Internal, err.Error())
		}
	}
	volume := &csi.Volume{VolumeId: id, CapacityBytes: what.Bytes, ContentSource: request.GetVolumeContentSource()}
	if what.Node != "" {
		volume.AccessibleTopology = []*csi.Topology{{Segments: map[string]string{nodeKey: what.Node}}}
	}
	return &csi.CreateVolumeResponse{Volume: volume}, nil
}

func nodeOf(wanted *csi.TopologyRequirement) string {
	for _, topology := range append(wanted.GetPreferred(), wanted.GetRequisite()...) {
		if node := topology.GetSegments()[nodeKey]; node != "" {
			return node
		}
	}
	return ""
}

func (d *driver) DeleteVolume(
	_ context.Context, request *csi.DeleteVolumeRequest,
) (*csi.DeleteVolumeResponse, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return &csi.DeleteVolumeResponse{}, d.remove("volumes", request.GetVolumeId())
}

func (d *driver) ValidateVolumeCapabilities(
	_ context.Context, request *csi.ValidateVolumeCapabilitiesRequest,
) (*csi.ValidateVolumeCapabilitiesResponse, error) {
	return &csi.ValidateVolumeCapabilitiesResponse{
		Confirmed: &csi.ValidateVolumeCapabilitiesResponse_Confirmed{VolumeCapabilities: request.GetVolumeCapabilities()},
	}, nil
}

func (d *driver) CreateSnapshot(
	_ context.Context, request *csi.CreateSnapshotRequest,
) (*csi.CreateSnapshotResponse, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	id := request.GetName()
	what, found := d.read("snapshots", id)
	if !found {
		volume, known := d.read("volumes", request.GetSourceVolumeId())
		if !known {
			return nil, status.Errorf(codes.NotFound, "there is no volume %s", request.GetSourceVolumeId())
		}
		what = record{Bytes: volume.Bytes, Source: request.GetSourceVolumeId(), Made: time.Now()}
		if err := d.fill(d.folder("snapshots", id), d.folder("volumes", request.GetSourceVolumeId())); err != nil {
			return nil, status.Error(codes.Internal, err.Error())
		}
		if err := d.write("snapshots", id, what); err != nil {
			return nil, status.Error(codes.Internal, err.Error())
		}
	}
	return &csi.CreateSnapshotResponse{Snapshot: &csi.Snapshot{
		SnapshotId: id, SourceVolumeId: what.Source, SizeBytes: what.Bytes, CreationTime: timestamppb.New(what.Made), ReadyToUse: true,
	}}, nil
}

func (d *driver) DeleteSnapshot(
	_ context.Context, request *csi.DeleteSnapshotRequest,
) (*csi.DeleteSnapshotResponse, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return &csi.DeleteSnapshotResponse{}, d.remove("snapshots", request.GetSnapshotId())
}

func (d *driver) NodeGetCapabilities(
	context.Context, *csi.NodeGetCapabilitiesRequest,
) (*csi.NodeGetCapabilitiesResponse, error) {
	return &csi.NodeGetCapabilitiesResponse{}, nil
}

func (d *driver) NodeGetInfo(context.Context, *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	response := &csi.NodeGetInfoResponse{NodeId: d.node}
	if d.local {
		response.AccessibleTopology = &csi.Topology{Segments: map[string]string{nodeKey: d.node}}
	}
	return response, nil
}

func (d *driver) NodePublishVolume(
	_ context.Context, request *csi.NodePublishVolumeRequest,
) (*csi.NodePublishVolumeResponse, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	source, target := d.folder("volumes", request.GetVolumeId()), request.GetTargetPath()
	if isMounted(target) {
		return &csi.NodePublishVolumeResponse{}, nil
	}
	if err := os.MkdirAll(target, 0o750); err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	if err := syscall.Mount(source, target, "", syscall.MS_BIND, ""); err != nil {
		return nil, status.Errorf(codes.Internal, "cannot mount %s: %v", source, err)
	}
	if request.GetReadonly() {
		flags := uintptr(syscall.MS_BIND | syscall.MS_REMOUNT | syscall.MS_RDONLY)
		if err := syscall.Mount("", target, "", flags, ""); err != nil {
			return nil, status.Error(codes.Internal, err.Error())
		}
	}
	return &csi.NodePublishVolumeResponse{}, nil
}

func (d *driver) NodeUnpublishVolume(
	_ context.Context, request *csi.NodeUnpublishVolumeRequest,
) (*csi.NodeUnpublishVolumeResponse, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	target := request.GetTargetPath()
	if isMounted(target) {
		if err := syscall.Unmount(target, 0); err != nil {
			return nil, status.Error(codes.Internal, err.Error())
		}
	}
	if err := os.Remove(target); err != nil && !os.IsNotExist(err) {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return &csi.NodeUnpublishVolumeResponse{}, nil
}

func isMounted(path string) bool {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	return err == nil && strings.Contains(string(mounts), " "+path+" ")
}
