import { expect, it } from 'vitest'
import { viewMachineSnapshot } from './views.ts'

it('names the disks that KubeVirt left out of a snapshot, without those that are made from Secrets', () => {
  const excluded = (excludedVolumes: readonly string[]) =>
    viewMachineSnapshot({
      apiVersion: 'snapshot.kubevirt.io/v1beta1',
      kind: 'VirtualMachineSnapshot',
      metadata: { name: 'monday-victim' },
      status: { readyToUse: true, snapshotVolumes: { includedVolumes: [], excludedVolumes } },
    } as Parameters<typeof viewMachineSnapshot>[0]).excluded
  expect([excluded(['cloudinit']), excluded(['rootdisk', 'cloudinit', 'sysprep', 'data'])]).toEqual([
    '',
    'rootdisk, data',
  ])
})
