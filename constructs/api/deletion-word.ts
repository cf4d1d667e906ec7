import { shortHash } from './names.ts'
import type { VirtualMachineStatus } from './virtual-machine-status.ts'

/** A VirtualMachine as stored. */
interface Asked {
  readonly metadata: { readonly uid?: string | undefined }
  readonly status?: Pick<VirtualMachineStatus, 'replacement' | 'resetRequest' | 'rebuildRequest'> | undefined
}

/**
 * Returns the value of annotation `pelotech.ot/delete-disk-first` that has the present root disk deleted before the new one is made; undefined if no new
 * one is recorded, or that has been made already, or the present one has no claim. It is of this machine, this claim and this request, so it counts for nothing else.
 */
export function deletionWord({ metadata, status }: Asked): string | undefined {
  const { asked, claimUID, disk } = status?.replacement ?? {}
  const request = asked === 'Reset' ? status?.resetRequest : status?.rebuildRequest
  if (disk?.uid !== undefined || asked === undefined || claimUID === undefined || request === undefined)
    return undefined
  return shortHash([metadata.uid, claimUID, request])
}
