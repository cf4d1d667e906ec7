import { z } from 'zod'
import { cel, listMap, matching, oneOf } from './shared.ts'
import { diskSizeField } from './sizes.ts'

/** As KubeVirt names them. */
export const DISK_BUSES = ['virtio', 'sata', 'scsi', 'usb'] as const
export type DiskBus = (typeof DISK_BUSES)[number]

/** The guest sees the name as the serial number of the disk, of which virtio shows no more characters. */
const NAME_MAX = 20
/** Disks that every machine has, or that the operator may give it: the volumes of KubeVirt's machine have the names of the disks. */
const TAKEN = ['rootdisk', 'cloudinit', 'sysprep']

const diskName = cel(
  matching(
    z.string().min(1).max(NAME_MAX),
    '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$',
    `must be lower-case letters, digits and "-", at most ${NAME_MAX}, with a letter or digit at both ends`,
  ),
  {
    rule: `!(self in [${TAKEN.map((name) => `'${name}'`).join(', ')}])`,
    message: `name must not be ${TAKEN.join(', ')}: these are disks of the operator`,
    holds: (name: string) => !TAKEN.includes(name),
  },
).describe('Name of the disk. The guest sees it as its serial number: on Linux it is /dev/disk/by-id/virtio-<name>.')

interface DiskSource {
  readonly volume?: string | undefined
}

/**
 * The further disks of a machine, beside its root disk.
 * @param volume schema of the name of a volume, with its description
 */
export function disksField(volume: z.ZodString, max: number) {
  const disk = oneOf(
    z.object({
      name: diskName,
      size: diskSizeField(
        'Size as a quantity such as 20Gi: an empty disk that is made with the machine and deleted with it. It keeps the size that it was made with.',
        'size',
      ).optional(),
      volume: volume.optional(),
      bus: z
        .enum(DISK_BUSES)
        .describe('How the guest sees the disk. The guest needs a driver for virtio and scsi. Default: virtio.')
        .optional(),
    }),
    ['size', 'volume'],
    'a disk must have exactly one of size and volume',
  ).describe('One disk.')
  const disks = listMap(
    z.array(disk).max(max),
    'name',
    'Disks beside the root disk, in the order of the guest. A disk that is taken out keeps its data until the machine is deleted. Default: none.',
  )
  return cel(disks, {
    rule: 'self.all(one, !has(one.volume) || self.exists_one(other, has(other.volume) && other.volume == one.volume))',
    message: 'disks must each have a volume of their own: name every volume only once',
    holds: (list: readonly DiskSource[]) => {
      const volumes = list.flatMap(({ volume: name }) => name ?? [])
      return new Set(volumes).size === volumes.length
    },
  })
}
