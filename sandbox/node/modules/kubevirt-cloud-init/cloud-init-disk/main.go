// cloud-init-disk writes the disk that a guest of KubeVirt finds its cloud-init data on, by KubeVirt's own code.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	v1 "kubevirt.io/api/core/v1"
	cloudinit "kubevirt.io/kubevirt/pkg/cloud-init"
	diskutils "kubevirt.io/kubevirt/pkg/ephemeral-disk-utils"
)

// It reads a VirtualMachine from its input. Its arguments are the folder that has a folder with the Secret's keys for each volume, and
// the folder that it writes to. It tells where the disk is.
func main() {
	if err := write(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write(secrets, target string) error {
	var machine v1.VirtualMachine
	if err := json.NewDecoder(os.Stdin).Decode(&machine); err != nil {
		return err
	}
	// An instance has the name of its machine.
	instance := &v1.VirtualMachineInstance{Spec: machine.Spec.Template.Spec}
	instance.Name, instance.Namespace = machine.Name, machine.Namespace
	// Only the container of KubeVirt has the user that the disk would be given to.
	diskutils.MockDefaultOwnershipManager()
	cloudinit.SetLocalDirectoryOnly(target)
	data, err := cloudinit.ReadCloudInitVolumeDataSource(instance, secrets)
	if err != nil {
		return err
	}
	if err := cloudinit.GenerateLocalData(instance, "", data); err != nil {
		return err
	}
	fmt.Println(cloudinit.GetIsoFilePath(data.DataSource, instance.Name, instance.Namespace))
	return nil
}
