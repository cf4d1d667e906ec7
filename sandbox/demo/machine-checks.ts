import { MACHINE_NAME, TEMPLATED } from './cast.ts'
import { type Check, type Evidence, historyOf, judge } from './evidence.ts'
import type { DiskFact, Entry, KubeVirtFact, MachineFact } from './facts.ts'
import { outOfOrder } from './steps.ts'

/** A virtual machine that is created before its image waits for it in the queue, and then runs without any further action. */
export function standsUpByItself(evidence: Evidence): Check {
  const { machines, images, disks, kubevirt } = traces(evidence)
  const readyAt = machines.findIndex(isReady)
  const ready = machines[readyAt]
  const problems = outOfOrder([
    ['the machine was created', machines[0]],
    ['its image was created', images[0]],
    ['the image was ready', images.find(({ fact }) => fact.isReady)],
    ['the disk was created', disks[0]],
    ['the disk was cloned', disks.find(({ fact }) => fact.phase === 'Succeeded')],
    ['KubeVirt ran the machine', kubevirt.find(({ fact }) => fact.printableStatus === 'Running')],
    ['the machine was Ready', ready],
  ])
  const place = machines.map(({ fact }) => reportedPlace(fact)).find((one) => one !== undefined)
  if (place === undefined) problems.push('it never reported its place in the queue while it waited for its image')
  if (machines.slice(0, readyAt + 1).some(({ fact }) => fact.metadata.generation !== 1))
    problems.push('somebody changed its spec')
  const [address] = ready?.fact.status.addresses ?? []
  const detail = `waited at place ${place} of the queue for the image that its template made; then disk, KubeVirt, Ready at ${address}`
  return judge('machine created before its image', problems, detail)
}

/** An image that is deleted while a machine has a disk of it stays until the disk is gone, and no longer. The machine is not affected. */
export function diesAfterItsUsers(evidence: Evidence): Check {
  const { machines, images, disks, artifact } = traces(evidence)
  const { left } = evidence.acts.machine
  const imageDeleted = images.find(isBeingDeleted)
  const blocked = images.find(({ fact }) => fact.blocked !== undefined)
  const machineDeleted = machines.find(isBeingDeleted)
  const diskGone = disks.find(isGone)
  const imageGone = images.find(isGone)
  const problems = outOfOrder([
    ['the image was deleted', imageDeleted],
    ['its condition DeletionBlocked was True', blocked],
    ['the machine was deleted', machineDeleted],
    ['its disk was gone', diskGone],
    ['the snapshot of the image was gone', historyOf(evidence, 'snapshot', artifact).find(isGone)],
    ['the image was gone', imageGone],
  ])
  const user = `VirtualMachine/${machines[0]?.fact.metadata.namespace}/${MACHINE_NAME}`
  const named = blocked?.fact.blocked ?? ''
  if (!named.includes(user)) problems.push(`DeletionBlocked does not name ${user}, it says "${named}"`)
  const alive = machines.slice(0, machines.findIndex(isBeingDeleted))
  if (!alive.slice(alive.findIndex(isReady)).every(isReady))
    problems.push('the machine was not Ready until it was deleted itself')
  if (!machines.some(isGone)) problems.push('the machine is still there')
  problems.push(...left.map((one) => `${one} is left of the machine`))
  const ms = diskGone && imageGone && Math.max(0, Math.round(imageGone.at - diskGone.at))
  const detail = `Terminating, "${named}"; gone ${ms} ms after the disk of the machine`
  return judge('image deleted while a machine uses it', problems, detail)
}

/** Returns everything that was observed of the machine and of what was created for it. */
function traces(evidence: Evidence) {
  const { journal } = evidence
  const machines = historyOf(evidence, 'machine', MACHINE_NAME)
  const images = historyOf(evidence, 'image', TEMPLATED)
  const uid = machines[0]?.fact.metadata.uid
  const isDisk = (entry: Entry): entry is Entry<DiskFact> => entry.fact.kind === 'disk'
  const isKubeVirt = (entry: Entry): entry is Entry<KubeVirtFact> => entry.fact.kind === 'kubevirt'
  return {
    machines,
    images,
    disks: journal.filter(isDisk).filter(({ fact }) => fact.machineUid === uid),
    kubevirt: journal.filter(isKubeVirt).filter(({ fact }) => fact.machineUid === uid),
    artifact: images.at(-1)?.fact.status.artifact?.name,
  }
}

/** Returns the queue position that a machine reports, if it also reports the time of the position. */
function reportedPlace({ reason, status }: MachineFact): number | undefined {
  const { queuePosition, queuePositionTime } = status.image ?? {}
  return reason === 'WaitingForImage' && queuePositionTime !== undefined ? queuePosition : undefined
}

function isReady({ fact }: Entry<MachineFact>): boolean {
  return fact.status.phase === 'Ready'
}

function isBeingDeleted({ fact }: Entry): boolean {
  return fact.metadata.deletionTimestamp !== undefined
}

function isGone({ isDeleted }: Entry): boolean {
  return isDeleted
}
