import { spec, times } from './machine-spec.ts'
import { accepted, field, refused, type SpecFixture } from './spec.ts'

const disk = (fields: object) => spec({ disks: [{ name: 'data', size: '1Gi', ...fields }] })

const vmDiskImageRef = { name: 'tools' }
const ONE_SOURCE = 'a disk must have exactly one of size, volume and vmDiskImageRef, or size beside vmDiskImageRef'
const CD_ROM = 'a disk with readOnly is a CD-ROM: it must have vmDiskImageRef, no size, and another bus than virtio'

export const DISKS: readonly SpecFixture[] = [
  accepted(
    'an empty disk and a volume',
    spec({
      disks: [
        { name: 'data', size: '20Gi', bus: 'sata' },
        { name: 'b', volume: 'a.b' },
      ],
    }),
  ),
  accepted('no disks', spec({ disks: [] })),
  accepted('16 disks', spec({ disks: times(16, (at) => ({ name: `d${at}`, size: '1Gi' })) })),
  refused('17 disks', spec({ disks: times(17, (at) => ({ name: `d${at}`, size: '1Gi' })) }), 'spec.disks'),
  refused('two disks of a name', spec({ disks: times(2, () => ({ name: 'a', size: '1Gi' })) }), 'spec.disks[1]'),
  refused(
    'a volume in two disks',
    spec({ disks: times(2, (at) => ({ name: `d${at}`, volume: 'v' })) }),
    'spec.disks',
    'disks must each have a volume of their own: name every volume only once',
  ),
  refused('a disk of nothing', spec({ disks: [{ name: 'data' }] }), 'spec.disks[0]', ONE_SOURCE),
  refused('a disk of two things', disk({ volume: 'v' }), 'spec.disks[0]', ONE_SOURCE),
  refused(
    'a disk of a volume and an image',
    disk({ size: undefined, volume: 'v', vmDiskImageRef }),
    'spec.disks[0]',
    ONE_SOURCE,
  ),
  accepted('a disk of an image, with a size', disk({ vmDiskImageRef })),
  accepted(
    'a disk of an image of another namespace',
    disk({ size: undefined, vmDiskImageRef: { name: 'a', namespace: 'farm' }, readOnly: false, bus: 'virtio' }),
  ),
  accepted(
    'images as CD-ROMs',
    spec({
      disks: ['sata', 'scsi', 'usb', undefined].map((bus, at) => ({
        name: `d${at}`,
        vmDiskImageRef,
        readOnly: true,
        ...(bus !== undefined && { bus }),
      })),
    }),
  ),
  refused('a CD-ROM of no image', disk({ readOnly: true }), 'spec.disks[0]', CD_ROM),
  refused('a CD-ROM with a size', disk({ vmDiskImageRef, readOnly: true }), 'spec.disks[0]', CD_ROM),
  refused(
    'a CD-ROM on virtio',
    disk({ size: undefined, vmDiskImageRef, readOnly: true, bus: 'virtio' }),
    'spec.disks[0]',
    CD_ROM,
  ),
  ...field('spec.disks[0].vmDiskImageRef.name', (name) => disk({ size: undefined, vmDiskImageRef: { name } }), {
    yes: ['a.b', 'a'.repeat(253)],
    no: ['', 'A', 'a/b', 'a'.repeat(254)],
  }),
  refused(
    'a disk with the name of the root disk',
    disk({ name: 'rootdisk' }),
    'spec.disks[0].name',
    'name must not be rootdisk, cloudinit, sysprep: these are disks of the operator',
  ),
  ...field('spec.disks[0].name', (name) => disk({ name }), {
    yes: ['data', '0', 'a-b', 'a'.repeat(20), 'rootdisk-2'],
    no: ['', 'Data', 'a.b', 'a_b', '-a', 'a-', 'a'.repeat(21), 'cloudinit', 7],
  }),
  ...field('spec.disks[0].size', (size) => disk({ size }), { yes: ['1Mi', 1048576, '1Pi'], no: ['1Ki', '', 'big', 0] }),
  ...field('spec.disks[0].volume', (volume) => disk({ size: undefined, volume }), {
    yes: ['v', 'a.b', 'a'.repeat(253)],
    no: ['', 'A', 'a/b', 'a'.repeat(254)],
  }),
  ...field('spec.disks[0].bus', (bus) => disk({ bus }), { yes: ['virtio', 'scsi', 'usb'], no: ['ide', 'VIRTIO', ''] }),
]
