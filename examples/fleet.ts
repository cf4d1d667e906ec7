/**
 * The images of `fleet.yaml`, written in TypeScript, with types and checks in the editor, and an error with field and fix if one is wrong.
 *
 *   npm ci && npx node examples/fleet.ts | kubectl apply -f -
 */
import { VMDiskImage, type VMDiskImageSpecInput } from '@open-terrain/constructs'
import { App, Chart, Yaml } from 'cdk8s'

/** Where the images of all labs are stored and snapshotted. */
const storage = { storageClass: 'gp3', snapshotClass: 'ebs-snapshot' }

const bucket = 'https://s3.us-gov-west-1.amazonaws.com/uki-lrn-vm-images/images'

/** A machine of a lab, from the private bucket. */
function labMachine(lab: number, version: string, machine: string, diskSize: string): VMDiskImageSpecInput {
  const url = `${bucket}/lab-${lab}/${version}/${machine}.qcow2`
  return { ...storage, secretRef: 'foo-bar', name: machine, url, sourceType: 's3', diskSize }
}

function download(url: string, diskSize: string): VMDiskImageSpecInput {
  return { ...storage, url, sourceType: 'http', diskSize }
}

function containerDisk(image: string, diskSize: string): VMDiskImageSpecInput {
  return { ...storage, url: `docker://registry.example.com/containerdisks/${image}`, sourceType: 'registry', diskSize }
}

function googleObject(object: string, diskSize: string): VMDiskImageSpecInput {
  return { ...storage, url: `gs://open-terrain-vm-images/${object}`, sourceType: 'gcs', diskSize }
}

const images: Readonly<Record<string, VMDiskImageSpecInput>> = {
  'ubuntu-24-04': download('https://cloud-images.ubuntu.com/noble/current/noble-server-cloudimg-amd64.img', '8Gi'),
  'lab-151-victim': labMachine(151, '1.0.0', 'victim', '20Gi'),
  'lab-151-router': labMachine(151, '1.0.0', 'router', '10Gi'),
  'fedora-42': containerDisk('fedora:42', '12Gi'),
  'debian-12': download('https://cloud.debian.org/images/cloud/bookworm/latest/debian-12-generic-amd64.qcow2', '10Gi'),
  'windows-2022': googleObject('windows/server-2022.qcow2', '32Gi'),
  'lab-152-domain-controller': labMachine(152, '2.1.0', 'domain-controller', '30Gi'),
  'lab-152-workstation': labMachine(152, '2.1.0', 'workstation', '28Gi'),
  'empty-data-disk': { ...storage, sourceType: 'blank', diskSize: '16Gi' },
  'centos-stream-9': containerDisk('centos-stream:9', '14Gi'),
  'almalinux-9': download(
    'https://repo.almalinux.org/almalinux/9/cloud/x86_64/images/AlmaLinux-9-GenericCloud-latest.x86_64.qcow2',
    '12Gi',
  ),
  'kali-2025': googleObject('kali/2025.2.qcow2', '26Gi'),
  'lab-153-siem': labMachine(153, '0.9.4', 'siem', '32Gi'),
  'opensuse-leap-15': containerDisk('opensuse-leap:15.6', '16Gi'),
  'lab-153-firewall': labMachine(153, '0.9.4', 'firewall', '9Gi'),
  'freebsd-14': download(
    'https://download.freebsd.org/releases/VM-IMAGES/14.3-RELEASE/amd64/Latest/FreeBSD-14.3-RELEASE-amd64.qcow2.xz',
    '18Gi',
  ),
}

const chart = new Chart(new App(), 'fleet')
const objects = Object.entries(images).map(([name, spec]) => {
  return new VMDiskImage(chart, name, { metadata: { name }, ...spec }).toJson() as object
})

process.stdout.write(Yaml.stringify(...objects))
