import { z } from 'zod'
import { cel, listMap, matching, maybeFlag } from './shared.ts'
import { diskSizeField } from './sizes.ts'

/** As KubeVirt names them. */
export const DISK_BUSES = ['virtio', 'sata', 'scsi', 'usb'] as const
export type DiskBus = (typeof DISK_BUSES)[number]

/** Disks that a machine may have beside its root disk. KubeVirt's machine has room for more, and others may add some. */
export const MACHINE_DISKS_MAX = 16

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
)
  .describe('Name of the disk. The guest sees it as its serial number: on Linux it is /dev/disk/by-id/virtio-<name>.')
  .meta({ example: 'data' })

interface DiskSource {
  readonly volume?: string | undefined
}

type DiskWords = Readonly<Record<string, unknown>>

/** The fields that disks of machines and of workspaces have alike. @param image the field that names an image */
function commonFields(volume: z.ZodString, image: string) {
  return {
    name: diskName,
    size: diskSizeField(
      `Size as a quantity such as 20Gi: an empty disk that is made with the machine and deleted with it; beside ${image}, the size of the clone. A disk keeps the size that it was made with, and is never smaller than its image.`,
      'size',
    ).optional(),
    volume: volume.optional(),
    readOnly: maybeFlag(
      `True: the image in ${image} is a CD-ROM, which the guest cannot write to, and boots from if it cannot boot from the root disk. Default: false.`,
    ),
    bus: z
      .enum(DISK_BUSES)
      .describe(
        'How the guest sees the disk. The guest needs a driver for virtio and scsi. Default: virtio, and sata for a CD-ROM.',
      )
      .optional(),
  }
}
type CommonFields = ReturnType<typeof commonFields>

/**
 * The further disks of a machine, beside its root disk.
 * @param volume schema of the name of a volume, with its description
 * @param image the field that names an image, and its schema
 */
export function disksField<I extends z.ZodRawShape>(volume: z.ZodString, image: I, max: number) {
  const field = Object.keys(image).join()
  const { readOnly, bus, ...sources } = commonFields(volume, field)
  // The rules below need no type of the field that differs.
  const words = z.object({ ...sources, ...image, readOnly, bus }) as unknown as z.ZodObject<CommonFields>
  const withSource = cel(words, {
    rule: `has(self.volume) ? !has(self.size) && !has(self.${field}) : has(self.size) || has(self.${field})`,
    message: `a disk must have exactly one of size, volume and ${field}, or size beside ${field}`,
    holds: (disk: DiskWords) => {
      const isOfOurs = disk['size'] !== undefined || disk[field] !== undefined
      return (disk['volume'] !== undefined) !== isOfOurs
    },
  })
  const disk = cel(withSource, {
    rule: `!has(self.readOnly) || !self.readOnly || (has(self.${field}) && !has(self.size) && (!has(self.bus) || self.bus != 'virtio'))`,
    message: `a disk with readOnly is a CD-ROM: it must have ${field}, no size, and another bus than virtio`,
    holds: (disk: DiskWords) =>
      disk['readOnly'] !== true ||
      (disk[field] !== undefined && disk['size'] === undefined && disk['bus'] !== 'virtio'),
  }).describe('One disk.')
  const disks = listMap(
    z.array(disk).max(max),
    'name',
    'Disks beside the root disk, in the order of the guest. A disk that is taken out keeps its data until the machine is deleted. Default: none.',
  )
  const withVolumes = cel(disks, {
    rule: 'self.all(one, !has(one.volume) || self.exists_one(other, has(other.volume) && other.volume == one.volume))',
    message: 'disks must each have a volume of their own: name every volume only once',
    holds: (list: readonly DiskSource[]) => {
      const volumes = list.flatMap(({ volume: name }) => name ?? [])
      return new Set(volumes).size === volumes.length
    },
  })
  return withVolumes as unknown as z.ZodArray<z.ZodObject<CommonFields & I>>
}
