import { compareResourceVersions } from '../../operator/kube/kube-object.ts'
import type { Performer } from './cast.ts'
import { preloadsARelease } from './data-sync-check.ts'
import { type Check, type Evidence, historyOf, judge, lastImage, uidOf } from './evidence.ts'
import type { Entry } from './facts.ts'
import { diesAfterItsUsers, standsUpByItself } from './machine-checks.ts'
import {
  creations,
  inversions,
  isImage,
  ledgers,
  stoppedByLowering,
  type Watermark,
  watchDataVolumes,
  watchLedger,
  watchTransfers,
} from './timeline.ts'
import { goesWithAll, isRestored, standsUpAsOne, switchesOffAndOn } from './workspace-checks.ts'

/** Checks all promises, in the order of the summary. */
export function check(evidence: Evidence): Check[] {
  return [
    parallelDownloads(evidence),
    within('DataVolumes at each revision of etcd', watchDataVolumes(evidence.journal), 'unfinished at once'),
    within('slots at each revision of the ledger', watchLedger(evidence.journal), 'held at once'),
    policyInForce(evidence),
    loweringStopsNobody(evidence),
    order(evidence),
    bytesOfGood(evidence),
    bytesOfFailing(evidence),
    attemptsOfFailing(evidence),
    refreshed(evidence),
    lateSecret(evidence),
    deleted(evidence),
    allOthers(evidence),
    standsUpByItself(evidence),
    diesAfterItsUsers(evidence),
    preloadsARelease(evidence),
    standsUpAsOne(evidence),
    switchesOffAndOn(evidence),
    isRestored(evidence),
    goesWithAll(evidence),
    operatorEnded(evidence),
  ]
}

function within(name: string, { revisions, most, breaches }: Watermark, what: string): Check {
  const none = revisions === 0 ? ['nothing was seen'] : []
  return judge(
    name,
    [...none, ...breaches],
    `${revisions} revisions, most ${most} ${what}, never a rise above the limit`,
  )
}

function limitsOf({ journal }: Evidence): number[] {
  return ledgers(journal)
    .map(({ ledger }) => ledger.limit)
    .filter((limit, at, all) => limit !== all[at - 1])
}

function parallelDownloads(evidence: Evidence): Check {
  const { journal, transfers, mostOpen, cast } = evidence
  const uids = new Map(cast.flatMap(({ name, url }) => (url === undefined ? [] : [[url, uidOf(evidence, name)]])))
  const limits = limitsOf(evidence)
  const most = Math.max(...limits)
  const problems = watchTransfers(journal, transfers, (url) => uids.get(url) ?? '')
  if (mostOpen > most) problems.push(`the image server had ${mostOpen} downloads open at once, the limit was ${most}`)
  if (mostOpen === 0) problems.push('the image server saw no download')
  const detail = `${transfers.length} downloads, most ${mostOpen} open at once at the image server; limits ${limits.join(', ')}`
  return judge('downloads in parallel', problems, detail)
}

/** Each change of the policy became the limit of the ledger. The delay is reported, not judged, because machines differ. */
function policyInForce({ journal, acts }: Evidence): Check {
  const states = ledgers(journal)
  const results = acts.policyChanges.map(({ to, revision }) => {
    const asked = journal.find((entry) => entry.revision === revision)
    const inForce = states.find((one) => one.ledger.limit === to && compareResourceVersions(one.revision, revision) > 0)
    return { to, ms: asked && inForce && Math.max(0, Math.round(inForce.at - asked.at)) }
  })
  const problems = results.filter(({ ms }) => ms === undefined).map(({ to }) => `the limit ${to} never came into force`)
  const detail = results.map(({ to, ms }) => `${to} in force after ${ms} ms`).join(', ')
  return judge('live change of concurrency', problems, detail)
}

function loweringStopsNobody(evidence: Evidence): Check {
  const { journal, acts, cast } = evidence
  const lowered = acts.policyChanges.find(({ from, to }) => to < from)
  const mayStop = cast.filter(({ role }) => role === 'failing' || role === 'deleted')
  const uids = new Set(mayStop.map(({ name }) => uidOf(evidence, name)))
  const { running, stopped } = stoppedByLowering(journal, lowered?.revision ?? '0', uids)
  const problems = stopped.map((name) => `${name} was stopped`)
  if (running <= (lowered?.to ?? 0)) problems.push(`only ${running} were running then, which proves nothing`)
  const detail = `${running} were running at ${lowered?.from} -> ${lowered?.to}, and all of them went on to succeed`
  return judge('lowering the limit stops nobody', problems, detail)
}

function order({ journal }: Evidence): Check {
  const count = creations(journal).length
  const problems = count === 0 ? ['no DataVolume was seen'] : inversions(journal)
  return judge('first come, first served', problems, `${count} DataVolumes were created in ticket order`)
}

function bytesOfGood({ cast, sent }: Evidence): Check {
  const once: readonly Performer['role'][] = ['good', 'late', 'templated', 'released', 'workspace']
  const good = cast.filter(({ role, url }) => once.includes(role) && url !== undefined)
  const problems = good.flatMap((one) => wrongBytes(one, sent, 1))
  const total = good.reduce((sum, { bytes }) => sum + bytes, 0)
  return judge('bytes of good images', problems, `${good.length} images, ${mib(total)} in all, each exactly once`)
}

function wrongBytes({ name, url = '', bytes }: Performer, sent: Evidence['sent'], times: number): string[] {
  const { bytes: actual, requests } = sent.get(url) ?? { bytes: 0, requests: 0 }
  if (actual === times * bytes && requests === times) return []
  return [`${name}: ${mib(actual)} in ${requests} downloads, instead of ${times} of ${mib(bytes)}`]
}

function bytesOfFailing({ cast, sent, acts }: Evidence): Check {
  const times = 1 + acts.retryLimit
  const failing = cast.filter(({ role }) => role === 'failing')
  const problems = failing.flatMap((one) => wrongBytes(one, sent, times))
  const detail = `${times} x ${mib(failing[0]?.bytes ?? 0)}, where its source cuts the connection`
  return judge('bytes of the failing image', problems, detail)
}

function attemptsOfFailing(evidence: Evidence): Check {
  const wanted = 1 + evidence.acts.retryLimit
  const name = nameOf(evidence, 'failing')
  const { status, reason } = lastImage(evidence, name) ?? {}
  const failed = (status?.attempts ?? []).filter(({ outcome }) => outcome === 'Failed')
  const uid = uidOf(evidence, name)
  const dataVolumes = creations(evidence.journal).filter(({ fact }) => fact.imageUid === uid).length
  const problems: string[] = []
  if (failed.length !== wanted) problems.push(`${failed.length} failed attempts in its status instead of ${wanted}`)
  if (dataVolumes !== wanted) problems.push(`${dataVolumes} DataVolumes were created instead of ${wanted}`)
  if (status?.phase !== 'Failed') problems.push(`its phase is ${status?.phase}`)
  if (reason !== 'RetryLimitExceeded') problems.push(`its reason is ${reason}`)
  const detail = `1 + retryLimit = ${wanted}, then Failed: ${reason}, last error "${failed.at(-1)?.message}"`
  return judge('attempts of the failing image', problems, detail)
}

function refreshed(evidence: Evidence): Check {
  const { cast, sent, acts, journal } = evidence
  const performer = cast.find(({ role }) => role === 'refreshed')
  if (performer === undefined) return judge('refresh', ['no image was refreshed'], '')
  const problems = wrongBytes(performer, sent, 2)
  const history = historyOf(evidence, 'image', performer.name)
  const firstReady = history.findIndex(({ fact }) => fact.isReady)
  if (history.slice(firstReady).some(({ fact }) => !fact.isReady)) problems.push('it was not Ready all along')
  if (acts.refresh.waiting === 0) problems.push('nobody was waiting when it was asked for')
  const second = creations(journal).filter(({ fact }) => fact.imageUid === uidOf(evidence, performer.name))[1]
  if (second === undefined || compareResourceVersions(second.revision, acts.refresh.revision) < 0)
    problems.push('no second DataVolume followed')
  const detail = `2 x ${mib(performer.bytes)}, behind ${acts.refresh.waiting} that waited; Ready all along`
  return judge('refresh', problems, detail)
}

function lateSecret(evidence: Evidence): Check {
  const { journal, acts } = evidence
  const name = nameOf(evidence, 'late')
  const uid = uidOf(evidence, name)
  const isBefore = (revision: string) => compareResourceVersions(revision, acts.secretRevision) < 0
  const early = ledgers(journal).filter(({ revision, ledger }) => {
    return isBefore(revision) && ledger.holders.some((holder) => holder.uid === uid)
  })
  const created = creations(journal)
  const problems = early.map(({ revision }) => `it held a slot at revision ${revision}, without its Secret`)
  if (created.some(({ fact, revision }) => fact.imageUid === uid && isBefore(revision)))
    problems.push('its DataVolume came before its Secret')
  const { status } = lastImage(evidence, name) ?? {}
  if (status?.phase !== 'Succeeded') problems.push(`its phase is ${status?.phase}`)
  const passed = created.filter(({ fact, revision }) => fact.imageUid !== uid && isBefore(revision)).length
  const detail = `no slot while it waited, ${passed} others started meanwhile; Succeeded after the Secret came`
  return judge('image whose Secret came late', problems, detail)
}

function deleted(evidence: Evidence): Check {
  const { journal, acts, cast, sent } = evidence
  const { uid, importersLeft } = acts.deletion
  const performer = cast.find(({ role }) => role === 'deleted')
  const { bytes = 0, open = 1 } = sent.get(performer?.url ?? '') ?? {}
  const problems: string[] = []
  if (!journal.filter(isImage).some(({ fact, isDeleted }) => isDeleted && fact.metadata.uid === uid))
    problems.push('it is still there')
  if (importersLeft > 0) problems.push(`${importersLeft} importer pods are still there`)
  if (bytes === 0 || bytes >= (performer?.bytes ?? 0) || open > 0)
    problems.push(`${mib(bytes)} were sent, ${open} downloads are open: it did not stop on the way`)
  problems.push(...earlyRelease(journal, uid))
  const share = Math.round((100 * bytes) / (performer?.bytes ?? 1))
  const detail = `gone with its importer at ${share} % of its bytes, and then its slot was free`
  return judge('image deleted while it downloads', problems, detail)
}

/** The slot must not be freed while anything can still download. */
function earlyRelease(journal: Evidence['journal'], uid: string): string[] {
  const states = ledgers(journal)
  const isHeld = ({ ledger }: (typeof states)[number]) => ledger.holders.some((holder) => holder.uid === uid)
  const released = states[states.findLastIndex(isHeld) + 1]
  if (released === undefined) return ['its slot was never freed']
  // The first entry for each that shows its end: an importer that has ended is no download any more, though its pod may stay for a while.
  const ends = new Map<string, Entry>()
  for (const entry of journal) {
    const { fact, isDeleted } = entry
    if ((fact.kind !== 'dataVolume' && fact.kind !== 'pod') || fact.imageUid !== uid) continue
    const isEnd = isDeleted || (fact.kind === 'pod' && fact.hasEnded)
    if (isEnd && !ends.has(fact.metadata.uid ?? '')) ends.set(fact.metadata.uid ?? '', entry)
  }
  const kinds = new Set([...ends.values()].map(({ fact }) => fact.kind))
  if (kinds.size < 2) return ['its importer was never seen to go']
  const late = [...ends.values()].filter(({ revision }) => compareResourceVersions(revision, released.revision) > 0)
  return late.map(({ fact }) => `its slot was free before ${fact.kind} ${fact.metadata.name} was gone`)
}

function allOthers(evidence: Evidence): Check {
  const others = evidence.cast.filter(({ role }) => role !== 'failing' && role !== 'deleted' && role !== 'templated')
  const problems = others.flatMap(({ name }) => notPublished(evidence, name))
  const detail = `${others.length} Succeeded, each with a ready snapshot that its DataSource points to`
  return judge('all other images', problems, detail)
}

function notPublished(evidence: Evidence, name: string): string[] {
  const { status } = lastImage(evidence, name) ?? {}
  if (status?.phase !== 'Succeeded') return [`${name} is ${status?.phase}: ${status?.message}`]
  const { artifact } = status
  const snapshot = historyOf(evidence, 'snapshot', artifact?.name).at(-1)
  const isReady = snapshot !== undefined && !snapshot.isDeleted && snapshot.fact.isReady
  if (!isReady) return [`${name}: snapshot ${artifact?.name} is not ready`]
  const dataSource = historyOf(evidence, 'dataSource', name).at(-1)
  const target = dataSource?.isDeleted ? undefined : dataSource?.fact.snapshot
  return target === artifact?.name ? [] : [`${name}: its DataSource points to ${target} instead of ${artifact?.name}`]
}

function operatorEnded({ operator: { code, signal, ms } }: Evidence): Check {
  const problems = code === 0 ? [] : [`it ended with ${signal ?? `exit code ${code}`}`]
  return judge('operator', problems, `exit code 0, ${ms} ms after SIGTERM`)
}

function nameOf({ cast }: Evidence, role: Performer['role']): string {
  return cast.find((one) => one.role === role)?.name ?? ''
}

function mib(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`
}
