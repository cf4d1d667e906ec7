import { wantedClaim } from './cdi-objects.ts'
import type { Claim, DataVolume, StorageClass, VolumeSnapshot } from './models.ts'
import { bytesOf } from './quantity.ts'
import type { CloneSource } from './source.ts'
import type { World } from './world.ts'

/** Why a clone cannot start yet: reason and message of its conditions. */
export interface Blockage {
  readonly reason: 'CloneWithoutSource' | 'CloneValidationFailed'
  readonly message: string
}

/** What is known about the source of a clone. */
export interface SourceFacts {
  /** A quantity. */
  readonly size: string
  /** The driver that holds the source; undefined if unknown. */
  readonly driver: string | undefined
  readonly volumeMode: string | undefined
  /** Whether the source can be read. */
  readonly isReady: boolean
}

/** Inspects the source of a clone. Rejects a clone that asks for less storage than the source has. */
export function inspect(world: World, source: CloneSource, dataVolume: DataVolume): SourceFacts | Blockage {
  const facts = source.of === 'snapshot' ? snapshotFacts(world, source) : claimFacts(world, source)
  if ('reason' in facts) return facts
  const wanted = wantedClaim(dataVolume).resources?.requests?.storage
  const [asked, has] = [bytesOf(wanted ?? facts.size) ?? 0, bytesOf(facts.size) ?? 0]
  if (asked >= has) return facts
  return invalid(`target resources requests storage size is smaller than the source ${asked} < ${has}`)
}

/** Why the data of a source must be copied byte by byte; undefined if the driver clones it. */
export interface Fallback {
  readonly reason: string
  readonly message: string
}

export function fallbackFor(
  source: CloneSource,
  facts: SourceFacts,
  target: Claim,
  { provisioner, allowVolumeExpansion }: StorageClass,
): Fallback | undefined {
  if (facts.driver !== undefined && facts.driver !== provisioner) {
    return source.of === 'snapshot'
      ? {
          reason: 'NoProvisionerMatch',
          message: 'The storageclass provisioner does not match the volumesnapshotcontent driver',
        }
      : { reason: 'IncompatibleProvisioners', message: 'Provisioners are incompatible' }
  }
  const grows = isBigger(target.spec.resources?.requests?.storage, facts.size)
  if (grows && allowVolumeExpansion !== true) {
    return { reason: 'NoVolumeExpansion', message: 'No volume expansion is possible' }
  }
  if (facts.volumeMode !== undefined && facts.volumeMode !== (target.spec.volumeMode ?? 'Filesystem')) {
    const message = 'The volume modes of source and target are incompatible'
    return { reason: 'IncompatibleVolumeModes', message }
  }
  return undefined
}

/** Reports whether one quantity is larger than another. An absent or invalid quantity counts as 0. */
export function isBigger(quantity: string | undefined, than: string | undefined): boolean {
  return (bytesOf(quantity ?? '') ?? 0) > (bytesOf(than ?? '') ?? 0)
}

function snapshotFacts(world: World, { namespace, name }: CloneSource): SourceFacts | Blockage {
  const snapshot = world.snapshots.get(`${namespace}/${name}`)
  if (snapshot === undefined) return missing('snapshot', name)
  if (snapshot.status?.restoreSize === undefined) return invalid('no status on source snapshot yet')
  const { restoreSize, readyToUse = false } = snapshot.status
  // A VolumeSnapshotContent would have the mode even after the claim is gone. There is none here.
  const claim = world.claims.get(`${namespace}/${snapshot.spec.source.persistentVolumeClaimName}`)
  return {
    size: restoreSize,
    driver: driverOf(world, snapshot),
    volumeMode: claim && (claim.spec.volumeMode ?? 'Filesystem'),
    isReady: readyToUse,
  }
}

function claimFacts(world: World, { namespace, name }: CloneSource): SourceFacts | Blockage {
  const claim = world.claims.get(`${namespace}/${name}`)
  if (claim === undefined) return missing('pvc', name)
  const size = claim.status?.capacity?.['storage'] ?? claim.spec.resources?.requests?.storage ?? '1Gi'
  return {
    size,
    driver: world.storageClasses.get(claim.spec.storageClassName ?? '')?.provisioner,
    volumeMode: claim.spec.volumeMode ?? 'Filesystem',
    isReady: claim.status?.phase === 'Bound',
  }
}

function driverOf(world: World, { spec }: VolumeSnapshot): string | undefined {
  return world.snapshotClasses.get(spec.volumeSnapshotClassName ?? '')?.driver
}

function missing(what: string, name: string): Blockage {
  return { reason: 'CloneWithoutSource', message: `The source ${what} ${name} doesn't exist` }
}

function invalid(why: string): Blockage {
  return { reason: 'CloneValidationFailed', message: `The clone doesn't meet the validation requirements: ${why}` }
}
