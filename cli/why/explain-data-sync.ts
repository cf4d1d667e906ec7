import type { DataSyncStatus } from '@open-terrain/constructs/operator'
import { firstFew } from '../../operator/base/messages.ts'
import { notSeenLinks } from './explain-operator.ts'
import { helpOf, type OwnObject, ownLink, type StoryLink, subjectFor, type Telling } from './story.ts'

export interface DataSyncObject extends OwnObject {
  readonly status?: DataSyncStatus
}

/** Images that are followed. The others are named. */
const IMAGES_MAX = 10
const FURTHER_MAX = 5

/** Returns why a DataSync is as it is. */
export async function explainDataSync(dataSync: DataSyncObject, telling: Telling): Promise<StoryLink> {
  const own = ownLink(dataSync)
  if (own.isWell) return own
  const images = dataSync.status?.images ?? []
  const open = [
    ...images.filter(({ phase }) => phase === 'Failed'),
    ...images.filter(({ phase }) => phase !== 'Failed' && phase !== 'Succeeded'),
  ]
  const links: StoryLink[] = []
  for (const { name, phase, reason, message } of open.slice(0, IMAGES_MAX)) {
    const { namespace = '' } = dataSync.metadata
    const link = await telling.image({ namespace, name })
    const said = { phase, reason, message, help: helpOf('DataSync', reason), subject: subjectFor(dataSync) }
    // The image itself may be well, and not be for this DataSync.
    links.push(link.isWell && link.unseen === undefined ? { ...link, ...said, isWell: false } : link)
  }
  const rest = open.slice(IMAGES_MAX).map(({ name }) => name)
  const because = [...(await notSeenLinks(dataSync, telling)), ...links]
  return { ...own, because, ...(rest.length > 0 && { more: `not ready either: ${firstFew(rest, FURTHER_MAX)}` }) }
}
