import { compareResourceVersions } from '../../operator/kube/kube-object.ts'
import { RELEASE, releasedIn, SAME_RELEASE } from './cast.ts'
import { type Check, type Evidence, historyOf, judge, lastImage } from './evidence.ts'

/** A pipeline that waits for a release continues when its images are ready, and not before. A second one of the same release shares them. */
export function preloadsARelease(evidence: Evidence): Check {
  const images = releasedIn(evidence.cast).map(({ name }) => name)
  const [first, second] = [RELEASE, SAME_RELEASE].map((name) => settledOf(evidence, name))
  const problems = [RELEASE, SAME_RELEASE].flatMap((name) => wrongEnd(evidence, name, images.length))
  for (const name of images) {
    const ready = historyOf(evidence, 'image', name).find(({ fact }) => fact.isReady)
    const isEarly = ready === undefined || compareResourceVersions(first?.revision ?? '0', ready.revision) < 0
    if (isEarly) problems.push(`${RELEASE} was Settled before ${name} was ready`)
    const users = lastImage(evidence, name)?.status.references?.names ?? []
    for (const one of [RELEASE, SAME_RELEASE])
      if (!users.some((user) => user.startsWith('DataSync/') && user.endsWith(`/${one}`)))
        problems.push(`${name} does not name ${one} among what refers to it`)
  }
  const created = historyOf(evidence, 'dataSync', SAME_RELEASE)[0]
  const ms = created && second && Math.max(0, Math.round(second.at - created.at))
  const detail = `Settled with its ${images.length} images; another one of the same ${ms} ms after it was created, with no download more`
  return judge('release of a workspace (DataSync)', problems, detail)
}

function settledOf(evidence: Evidence, name: string) {
  return historyOf(evidence, 'dataSync', name).find(({ fact }) => fact.isSettled)
}

function wrongEnd(evidence: Evidence, name: string, images: number): string[] {
  const settled = settledOf(evidence, name)
  const { phase, ready } = settled?.fact.status ?? {}
  if (phase === 'Succeeded' && ready === `${images}/${images}` && images > 0) return []
  return [`${name} was first Settled as ${phase}, with ${ready} of its images`]
}
