import { ApiObject } from 'cdk8s'
import type { Construct } from 'constructs'
import type { DiskBus } from '../api/machine-disks.ts'
import { childName, shortHash } from '../api/names.ts'
import type { Artifact } from '../api/vm-disk-image.ts'
import type { ImageChild } from './image-child.ts'
import { render } from './render.ts'
import { type VMRef, vmChildMetadata } from './virtual-machine-child.ts'

/** A disk of KubeVirt's machine beside the root disk. */
export interface GuestDataDisk {
  /** At most 20 characters. Also its serial number. */
  readonly name: string
  /** Name of its claim. */
  readonly claim: string
  /** Default: virtio, and sata for a CD-ROM. */
  readonly bus?: DiskBus | undefined
  /** Whether it is a CD-ROM. Default: false. */
  readonly readOnly?: boolean | undefined
}

export interface DiskClaimProps {
  readonly vm: VMRef
  /** Name of the disk in the spec. */
  readonly disk: string
  /** As a quantity. */
  readonly size: string
  /** Class of the root disk. Default: that of the cluster. */
  readonly storageClass?: string | undefined
  /** What the root disk is cloned from. The disk has its volume mode and access modes, so that the machine can migrate with both or with neither. */
  readonly artifact?: Pick<Artifact, 'volumeMode' | 'accessModes'> | undefined
}

export type DiskClaimObject = ImageChild<
  'PersistentVolumeClaim',
  {
    readonly accessModes: readonly string[]
    readonly volumeMode?: string
    readonly storageClassName?: string
    readonly resources: { readonly requests: { readonly storage: string } }
  }
>

/**
 * Returns the name of the claim of a disk that the operator makes, a DNS-1123 label of at most 63 characters. The hash at its end keeps it apart from the
 * root disks and the volumes of a workspace.
 * @param image name of the image that it is a clone of, if it is not empty: with another image, it is another disk. Its namespace does not count: a lab
 *   gets that from the policy, whose change must not give each guest another disk.
 */
export function diskClaimName(vmName: string, disk: string, image?: string): string {
  return childName(vmName, `${disk}-${shortHash([vmName, disk, ...(image === undefined ? [] : [image])])}`)
}

/** The end of such a name: that of the disk, and the hash. */
const OF_DISK = /^[a-z0-9][-a-z0-9]{0,19}-[0-9a-f]{8}$/

/** Reports whether a name is one that `diskClaimName` gives to a disk of that machine. */
export function isDiskClaimName(vmName: string, name: string): boolean {
  // A machine's name may have hyphens, and may be shortened: where it ends cannot be seen.
  const ends = [...name.matchAll(/-/g)].map(({ index }) => name.slice(index + 1))
  return ends.some((end) => OF_DISK.test(end) && childName(vmName, end) === name)
}

/**
 * An empty disk: a claim that KubeVirt makes a disk in when the guest first starts. It is no DataVolume, because CDI makes a claim again that is gone, and
 * what was on it would be lost silently.
 */
export class DiskClaim extends ApiObject {
  constructor(scope: Construct, id: string, props: DiskClaimProps) {
    const { vm, disk, size, storageClass, artifact } = props
    super(scope, id, {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: vmChildMetadata({ vm, name: diskClaimName(vm.name, disk) }),
      spec: {
        accessModes: artifact?.accessModes?.length ? artifact.accessModes : ['ReadWriteOnce'],
        volumeMode: artifact?.volumeMode,
        storageClassName: storageClass,
        resources: { requests: { storage: size } },
      },
    })
  }
}

export function renderDiskClaim(props: DiskClaimProps): DiskClaimObject {
  const [object] = render((chart) => new DiskClaim(chart, 'Disk', props))
  return object as DiskClaimObject
}
