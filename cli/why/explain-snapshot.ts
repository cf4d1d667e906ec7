import type { WorkspaceSnapshotMember, WorkspaceSnapshotStatus } from '@open-terrain/constructs/operator'
import {
  VIRTUAL_MACHINE_RESTORE,
  VIRTUAL_MACHINE_SNAPSHOT,
  VOLUME_SNAPSHOT,
} from '../../operator/kube/resource-types.ts'
import { notSeenLinks } from './explain-operator.ts'
import { isUnseen } from './reader.ts'
import {
  helpOf,
  neighbourLink,
  type OwnObject,
  ownLink,
  type StoryLink,
  subjectFor,
  type Telling,
  unseenLink,
} from './story.ts'

export interface WorkspaceSnapshotObject extends OwnObject {
  readonly status?: WorkspaceSnapshotStatus
}

/** Members that are followed: each costs a request. */
const MEMBERS_MAX = 5

/** Returns why a point in time is as it is, and its restore if one is under way or has failed. */
export async function explainSnapshot(point: WorkspaceSnapshotObject, telling: Telling): Promise<StoryLink> {
  const own = ownLink(point)
  const restore = await restoreLinks(point, telling)
  if (own.isWell) return restore.length === 0 ? own : { ...own, isWell: false, because: restore }
  const open = (point.status?.members ?? []).filter(({ ready, phase }) => !ready && phase !== 'LeftOut')
  const members = await Promise.all(open.slice(0, MEMBERS_MAX).map((member) => memberLink(point, member, telling)))
  return { ...own, because: [...(await notSeenLinks(point, telling)), ...members, ...restore] }
}

async function memberLink(
  point: WorkspaceSnapshotObject,
  { kind, name, snapshot, phase, reason, message }: WorkspaceSnapshotMember,
  { reader }: Telling,
): Promise<StoryLink> {
  const { namespace = '' } = point.metadata
  const own: StoryLink = {
    about: { kind, namespace, name },
    isWell: false,
    ...{ phase, reason, message, help: helpOf('WorkspaceSnapshot', reason), subject: subjectFor(point), because: [] },
  }
  if (snapshot === undefined) return own
  const type = kind === 'Machine' ? VIRTUAL_MACHINE_SNAPSHOT : VOLUME_SNAPSHOT
  const found = await reader.get(type, { namespace, name: snapshot })
  if (found === undefined) return own
  const about = { kind: type.kind, group: type.group, namespace, name: snapshot }
  return { ...own, because: [isUnseen(found) ? unseenLink(about, found.unseen) : neighbourLink(found)] }
}

async function restoreLinks(point: WorkspaceSnapshotObject, { reader }: Telling): Promise<readonly StoryLink[]> {
  const { restore } = point.status ?? {}
  if (restore === undefined || restore.phase === 'Succeeded') return []
  const { namespace = '', name } = point.metadata
  const reason = (
    {
      InProgress: 'Restoring',
      WaitForFirstConsumer: 'WaitForFirstConsumer',
      Failed: 'RestoreFailed',
      Refused: 'RestoreRefused',
    } as const
  )[restore.phase]
  const open = (restore.members ?? []).filter(({ phase }) => phase !== 'Succeeded')
  const objects = await Promise.all(
    open.slice(0, MEMBERS_MAX).map(async (member): Promise<readonly StoryLink[]> => {
      const found = await reader.get(VIRTUAL_MACHINE_RESTORE, { namespace, name: member.restore })
      if (found === undefined) return []
      const about = { kind: VIRTUAL_MACHINE_RESTORE.kind, namespace, name: member.restore }
      return [isUnseen(found) ? unseenLink(about, found.unseen) : neighbourLink(found)]
    }),
  )
  return [
    {
      about: { kind: 'Restore', namespace, name },
      isWell: false,
      ...{ phase: restore.phase, reason, message: restore.message, since: restore.startTime },
      ...{ help: helpOf('WorkspaceSnapshot', reason), subject: subjectFor(point), because: objects.flat() },
    },
  ]
}
