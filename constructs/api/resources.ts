import type { Resource } from '../schema/define-resource.ts'
import { dataSync } from './data-sync.ts'
import { virtualMachine } from './virtual-machine.ts'
import { vmDiskImage } from './vm-disk-image.ts'
import { workspace } from './workspace.ts'
import { workspaceSnapshot } from './workspace-snapshot.ts'

/** Every kind of the API, in the order of the reference. */
export const RESOURCES: readonly Resource[] = [vmDiskImage, virtualMachine, dataSync, workspace, workspaceSnapshot]
